import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { egressForwarder } from '../../../runner/browser/egress-forwarder.ts';
import { proxyNetwork } from '../../egress/proxy-network.ts';

const NOBODY = 65_534;

/** What a process of this user reads from a server of this machine. Only root may start one. */
async function answerTo(uid: number, port: number, request: string): Promise<string> {
  const ask = `exec 3<>/dev/tcp/127.0.0.1/${port} && printf %s "$REQUEST" >&3 && cat <&3`;
  const child = spawn('bash', ['-c', ask], {
    ...{ uid, cwd: '/', env: { PATH: process.env.PATH, REQUEST: request } },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return text(child.stdout);
}

test.runIf(process.getuid?.() === 0)('the forwarder serves its own user, and nobody else on the machine', async () => {
  const network = await proxyNetwork({});
  onTestFinished(() => network.close());
  const forwarder = await egressForwarder({ egressUrl: `http://127.0.0.1:${network.egress.port}` });
  onTestFinished(() => forwarder.close());
  forwarder.lease(network.lease({}));
  const port = Number(new URL(forwarder.proxyUrl).port);
  const request = `GET http://site.test:${network.site.port}/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
  expect(await answerTo(NOBODY, port, request)).toBe('');
  expect(network.site.requests).toEqual([]);
  expect(await answerTo(0, port, request)).toContain('GET /x');
});
