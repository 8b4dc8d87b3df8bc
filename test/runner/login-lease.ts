import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, beforeEach, expect } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { parsePolicy } from '../../contract/policy/document.ts';
import { siteRules } from '../../contract/policy/sites.ts';
import { type ProxyNetwork, proxyNetwork } from '../egress/proxy-network.ts';
import { PUBLIC_ADDRESS } from '../egress/sites.ts';
import { eventually } from '../eventually.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { type LoginSite, startLoginSite } from '../site/login-site.ts';
import { leaksOf } from './secrecy/leaks.ts';
import { connect, type RunnerProcess, startRunner } from './start.ts';

const HOSTS = [
  'shop.test',
  'accounts.shop.test',
  'evil.test',
  'sh0p.test',
  'shop.test.evil.test',
  'bank.test',
  'grocer.test',
  'bakery.test',
  'www.bakery.test',
  'florist.test',
];

/** Credentials of the user that the lease has, by what says where each may be used. */
export const LOGIN_SECRETS = {
  SHOP_TEST_USERNAME: 'alice.smith@mail.invalid',
  SHOP_TEST_PASSWORD: 'correct horse "battery" & staple 77',
  BANK_USERNAME: 'banker-4711',
  BANK_PASSWORD: 'banker-4711-secret',
  WALMART_USERNAME: 'grocer-4711',
  WALMART_PASSWORD: 'grocer-4711-secret',
  BAKERY_USERNAME: 'baker-4711',
  BAKERY_PASSWORD: 'baker-4711-secret',
} as const;

interface Part {
  type: string;
  text?: string;
  data?: string;
}

interface CallResult {
  readonly text: string;
  readonly content: readonly Part[];
  readonly failed: boolean;
}

/** A recorded lease with credentials, whose browser reaches sites with logins, honest and not, through the proxy alone. */
export interface LoginLease extends AsyncDisposable {
  readonly network: ProxyNetwork;
  readonly site: LoginSite;
  readonly controller: FakeController;
  readonly runner: RunnerProcess;
  readonly client: Client;
  /** Every text that an agent got to see. */
  readonly seen: readonly string[];
  at(host: string, path: string): string;
  call(name: string, args?: Record<string, unknown>): Promise<CallResult>;
  goTo(url: string): Promise<CallResult>;
}

async function startLoginLease(): Promise<LoginLease> {
  await using started = new AsyncDisposableStack();
  const network = await proxyNetwork(Object.fromEntries(HOSTS.map(host => [host, { a: [PUBLIC_ADDRESS] }])));
  started.defer(() => network.close());
  const site = await startLoginSite(PUBLIC_ADDRESS);
  started.defer(() => site.close());
  const controller = started.use(await startFakeController());
  giveCredentials(controller, site.port);
  const runner = await startRunner(controller, {
    [ENV.egressUrl]: `http://127.0.0.1:${network.egress.port}`,
    [ENV.chromiumSpki]: site.spki,
    [ENV.toolset]: 'both',
  });
  started.defer(() => runner.dispose());
  const client = await assign(controller, runner, network, [80, 443, site.port, network.site.port]);
  started.defer(() => client.close());
  const seen: string[] = [];
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const result = await client.callTool({ name, arguments: args });
    const content = result.content as Part[]; // the tool-result shape of the protocol
    const text = content.map(part => part.text ?? '').join('\n');
    seen.push(text);
    return { text, content, failed: result.isError === true };
  };
  const parts = started.move();
  return {
    ...{ network, site, controller, runner, client, seen, call },
    at: (host, path) => `https://${host}:${site.port}${path}`,
    goTo: url => call('browser_navigate', { url }),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

function giveCredentials(controller: FakeController, port: number): void {
  controller.secrets = LOGIN_SECRETS;
  controller.sites = [
    { site: 'shop.test', totp: true },
    { site: 'bank', totp: false },
    { site: 'walmart', totp: false, targets: ['grocer.test'] },
    { site: 'bakery', totp: false },
  ];
  controller.totp = { code: '492837', valid_ms: 30_000 };
  const credentials = { bank: [`https://bank.test:${port}`] };
  controller.policy = { version: '1', layers: [{ layer: 'user', policy: parsePolicy({ version: 1, credentials }) }] };
}

/** Leases the runner, and connects an agent. */
async function assign(
  controller: FakeController,
  runner: RunnerProcess,
  network: ProxyNetwork,
  ports: readonly number[],
): Promise<Client> {
  const { token, mcpToken, sessionId } = await controller.assignment(runner, {
    recordVideo: true,
  });
  network.controller.leases.set(runner.runnerId, {
    credential: controller.egressCredential,
    grant: {
      ...{ session_id: sessionId, epoch: 1, runner_id: runner.runnerId, client: 'browser' as const },
      ...{ version: '1', remaining_ms: 600_000 },
      layers: [{ layer: 'session', sites: siteRules.parse({ ports, deny: ['denied.test'] }) }],
    },
  });
  const { status } = await runner.post('/assign', { token });
  if (status !== 200) throw new Error(`the assignment was answered with ${status}`);
  return connect(runner.url, mcpToken);
}

/** A lease of a test file, whose browser is closed before each test; and short names for its steps. */
export function loginLeaseOfFile() {
  let lease: LoginLease;
  beforeAll(async () => {
    lease = await startLoginLease();
  }, 60_000);
  afterAll(() => lease?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    await lease.call('browser_close');
  });
  return {
    lease: () => lease,
    at: (host: string, path: string) => lease.at(host, path),
    call: (name: string, args?: Record<string, unknown>) => lease.call(name, args),
    goTo: (url: string) => lease.goTo(url),
    login: (args?: object) => attemptLogin(lease, args),
    posted: (path: string) => postedTo(lease, path),
  };
}

/** Logs in as an agent does, on the open page. */
async function attemptLogin(lease: LoginLease, args: object = {}) {
  const { text } = await lease.call('browser_login', {
    usernameSelector: '#u',
    passwordSelector: '#p',
    submitSelector: 'button',
    ...args,
  });
  return JSON.parse(text);
}

/** The last form that the honest site was sent at that path. */
const postedTo = (lease: LoginLease, path: string) =>
  lease.site.arrived.filter(({ url, all }) => url === path && all.startsWith('POST')).at(-1);

/** Opens a page of a stranger, and tries every tool that fills a credential in. */
export async function expectNothingFilled(lease: LoginLease, url: string): Promise<void> {
  await lease.goTo(url);
  expect((await attemptLogin(lease)).status).toMatch(/^(no_credential|origin_refused)$/);
  expect(['no_credential', 'origin_refused']).toContain((await attemptLogin(lease, { site: 'shop.test' })).status);
  for (const [target, text] of [
    ['#u', 'SHOP_TEST_USERNAME'],
    ['#p', 'SHOP_TEST_PASSWORD'],
    ['#u', 'SHOP_TEST_TOTP'],
  ] as const) {
    expect((await lease.call('browser_type', { target, text })).text).toContain('origin_refused');
    const fields = [{ target, name: 'x', type: 'textbox', value: text }];
    expect((await lease.call('browser_fill_form', { fields })).text).toContain('origin_refused');
    expect(
      (await lease.call('browser_fill_and_submit', { fields: [{ selector: target, value: text }] })).text,
    ).toContain('origin_refused');
  }
}

/** No value is in any result, event, log line, or request to another site; there must have been this many of both. */
export async function expectNothingTold(lease: LoginLease, least: { strangers: number; seen: number }): Promise<void> {
  await lease.goTo(lease.at('evil.test', '/last'));
  await eventually('the last events', () =>
    lease.controller.events.find(({ data }) => JSON.stringify(data).includes('/last')),
  );
  const strangers = lease.site.arrived.filter(({ host }) => /evil|sh0p/.test(host));
  expect(strangers.length).toBeGreaterThan(least.strangers);
  const { SHOP_TEST_USERNAME, SHOP_TEST_PASSWORD, BANK_PASSWORD } = LOGIN_SECRETS;
  const texts = [
    ...lease.seen,
    JSON.stringify(lease.controller.events),
    lease.runner.output(),
    ...strangers.map(({ all }) => all),
  ];
  for (const value of [SHOP_TEST_USERNAME, SHOP_TEST_PASSWORD, BANK_PASSWORD])
    for (const text of texts) expect(leaksOf(text, value), text.slice(0, 300)).toEqual([]);
  for (const text of texts) expect(text).not.toContain('492837');
  expect(lease.seen.length).toBeGreaterThan(least.seen);
}
