import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, expect, it } from 'vitest';
import { parseEgressSettings } from '../../egress/settings.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { basic, get, isAnswer, tunnel } from './raw-client.ts';
import { PUBLIC_ADDRESS, publicSite, type Site } from './sites.ts';

const secret = randomBytes(32).toString('hex');
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** The proxy as it is deployed: a process, configured by its environment alone. */
function start(environment: Record<string, string>) {
  const child = spawn(process.execPath, ['egress/main.ts'], {
    env: {
      PATH: process.env.PATH,
      OMICRON_EGRESS_HOST: '127.0.0.1',
      OMICRON_EGRESS_PORT: '0',
      OMICRON_EGRESS_ADMIN_HOST: '127.0.0.1',
      OMICRON_EGRESS_ADMIN_PORT: '0',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', line => lines.push(line));
  createInterface({ input: child.stderr }).on('line', line => lines.push(line));
  closing.push(async () => child.exitCode ?? (child.kill('SIGKILL') && (await once(child, 'exit'))));
  return { child, lines };
}

const lease = (controller: FakeController, site: Site) => {
  const [runner_id, session_id] = [crypto.randomUUID(), crypto.randomUUID()];
  const layers = [{ layer: 'deployment' as const, sites: { ports: [site.port] } }];
  const grant = {
    runner_id,
    session_id,
    client: 'browser' as const,
    epoch: 1,
    version: '1',
    remaining_ms: 60_000,
    layers,
  };
  controller.leases.set(runner_id, { credential: 'c', grant });
  return basic(runner_id, 'c');
};

it('starts from its environment, serves, and on SIGTERM lets an open tunnel end before it exits with 0', async () => {
  const [controller, site] = [await startFakeController(), await publicSite()];
  closing.push(controller.close, site.close);
  const { child, lines } = start({
    OMICRON_CONTROLLER_URL: controller.url,
    OMICRON_EGRESS_JWT_SECRET: controller.egressSecret,
    OMICRON_EGRESS_ALLOWED_CIDRS: `${PUBLIC_ADDRESS}/32`,
  });
  await expect.poll(() => lines.join('\n'), { timeout: 20_000 }).toContain('egress proxy ready');
  const { port, admin_port: adminPort } = JSON.parse(lines.find(line => line.includes('ready')) ?? '{}');
  const auth = lease(controller, site);
  expect((await get(port, auth, `http://${PUBLIC_ADDRESS}:${site.port}/`)).status).toBe(200);
  const socket = await tunnel(port, auth, `${PUBLIC_ADDRESS}:${site.port}`);
  if (isAnswer(socket)) throw new Error('refused');

  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await expect.poll(async () => (await fetch(`http://127.0.0.1:${adminPort}/healthz`)).status).toBe(503);
  socket.resume().end('GET /last HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n');
  const [code] = await exited;
  expect(code).toBe(0);
  expect(site.requests.at(-1)?.url).toBe('/last');
  expect(lines.join('\n')).not.toContain(controller.egressSecret);
});

it('does not start on a wrong environment and says which variables are wrong, never what they held', async () => {
  const { child, lines } = start({
    OMICRON_CONTROLLER_URL: 'ftp://somewhere',
    OMICRON_EGRESS_JWT_SECRET: 'too-short-secret',
    OMICRON_EGRESS_DENIED_CIDRS: '10.0.0.0/8, ten-slash-eight',
    OMICRON_EGRESS_DNS_SERVERS: 'dns.example.com',
  });
  const [code] = await once(child, 'exit');
  expect(code).toBe(1);
  await expect.poll(() => lines.join('\n')).toContain('OMICRON_EGRESS_DNS_SERVERS');
  const text = lines.join('\n');
  for (const name of ['OMICRON_CONTROLLER_URL', 'OMICRON_EGRESS_DENIED_CIDRS', 'OMICRON_EGRESS_JWT_SECRET'])
    expect(text).toContain(name);
  expect(text).not.toMatch(/too-short|ten-slash|ftp:/);
});

it('reads DNS servers of both families, with and without a port', () => {
  const servers = (text: string) =>
    parseEgressSettings({
      OMICRON_CONTROLLER_URL: 'http://c',
      OMICRON_EGRESS_JWT_SECRET: secret,
      OMICRON_EGRESS_DNS_SERVERS: text,
    }).dnsServers;
  expect(servers('10.0.0.2, 10.0.0.3:5353 fd00::1,[fd00::2]:53')).toEqual([
    '10.0.0.2',
    '10.0.0.3:5353',
    'fd00::1',
    '[fd00::2]:53',
  ]);
  for (const text of ['dns', '10.0.0.2:', 'fd00::1::2', '10.0.0:53'])
    expect(() => servers(text)).toThrow('OMICRON_EGRESS_DNS_SERVERS');
});
