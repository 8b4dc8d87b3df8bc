import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { egressForwarder } from '../../../runner/browser/egress-forwarder.ts';
import { unprivilegedUser } from '../../../runner/browser/launcher.ts';
import { proxyNetwork } from '../../egress/proxy-network.ts';

const NOBODY = 65_534;

interface Asker {
  readonly uid: number;
  /** No descendant of this process, as a program of the same user elsewhere on the machine. */
  readonly isStranger?: boolean;
}

/** The answer of a server of this machine to a process. Only root may start one as another user. */
async function answerTo({ uid, isStranger = false }: Asker, port: number, request: string): Promise<string> {
  const ask = `exec 3<>/dev/tcp/127.0.0.1/${port} && printf %s "$REQUEST" >&3 && cat <&3`;
  // The shell between the two is gone by then.
  const orphaned = `{ until [[ $(ps -o ppid= $BASHPID) -ne $$ ]]; do :; done; ${ask}; } & exit`;
  const child = spawn('bash', ['-c', isStranger ? orphaned : ask], {
    ...{ uid, cwd: '/', env: { PATH: process.env.PATH, REQUEST: request } },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return text(child.stdout);
}

test.runIf(process.getuid?.() === 0)('the forwarder serves the processes of its own runner, and no other', async () => {
  const network = await proxyNetwork({});
  onTestFinished(() => network.close());
  const forwarder = await egressForwarder({ egressUrl: `http://127.0.0.1:${network.egress.port}` });
  onTestFinished(() => forwarder.close());
  forwarder.lease({ ...network.lease({}), holdsSecret: () => false });
  const port = Number(new URL(forwarder.proxyUrl).port);
  const request = `GET http://site.test:${network.site.port}/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
  expect(await answerTo({ uid: NOBODY }, port, request)).toBe('');
  expect(await answerTo({ uid: 0, isStranger: true }, port, request)).toBe('');
  expect(await answerTo({ uid: unprivilegedUser(process.pid), isStranger: true }, port, request)).toBe('');
  expect(network.site.requests).toEqual([]);
  expect(await answerTo({ uid: 0 }, port, request)).toContain('GET /x');
  expect(await answerTo({ uid: unprivilegedUser(process.pid) }, port, request)).toContain('GET /x');
});
