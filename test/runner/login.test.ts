import { createSocket } from 'node:dgram';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { parsePolicy } from '../../contract/policy/document.ts';
import { siteRules } from '../../contract/policy/sites.ts';
import { CODE_META } from '../../contract/tool-failure.ts';
import { type ProxyNetwork, proxyNetwork } from '../egress/proxy-network.ts';
import { PUBLIC_ADDRESS } from '../egress/sites.ts';
import { eventually } from '../eventually.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { type LoginSite, startLoginSite } from '../site/login-site.ts';
import { leaksOf } from './secrecy/leaks.ts';
import { connectionsOfGroup } from './sockets.ts';
import { connect, type RunnerProcess, startRunner } from './start.ts';

const USERNAME = 'alice.smith@mail.invalid';
const PASSWORD = 'correct horse "battery" & staple 77';
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

let w: ProxyNetwork;
let site: LoginSite;
let controller: FakeController;
let runner: RunnerProcess;
let client: Client;
/** Every text that an agent got to see. */
const seen: string[] = [];
const at = (host: string, path: string) => `https://${host}:${site.port}${path}`;

beforeAll(async () => {
  w = await proxyNetwork(Object.fromEntries(HOSTS.map(host => [host, { a: [PUBLIC_ADDRESS] }])));
  site = await startLoginSite(PUBLIC_ADDRESS);
  controller = await startFakeController();
  controller.secrets = {
    SHOP_TEST_USERNAME: USERNAME,
    SHOP_TEST_PASSWORD: PASSWORD,
    BANK_USERNAME: 'banker-4711',
    BANK_PASSWORD: 'banker-4711-secret',
    WALMART_USERNAME: 'grocer-4711',
    WALMART_PASSWORD: 'grocer-4711-secret',
    BAKERY_USERNAME: 'baker-4711',
    BAKERY_PASSWORD: 'baker-4711-secret',
  };
  controller.sites = [
    { site: 'shop.test', totp: true },
    { site: 'bank', totp: false },
    { site: 'walmart', totp: false, targets: ['grocer.test'] },
    { site: 'bakery', totp: false },
  ];
  controller.totp = { code: '492837', valid_ms: 30_000 };
  const credentials = { bank: [`https://bank.test:${site.port}`] };
  controller.policy = { version: '1', layers: [{ layer: 'user', policy: parsePolicy({ version: 1, credentials }) }] };
  runner = await startRunner(controller, {
    [ENV.egressUrl]: `http://127.0.0.1:${w.egress.port}`,
    [ENV.chromiumSpki]: site.spki,
    [ENV.toolset]: 'both',
  });
  const { token, mcpToken, sessionId } = await controller.assignment(runner, { recordVideo: true });
  w.controller.leases.set(runner.runnerId, {
    credential: controller.egressCredential,
    grant: {
      ...{ session_id: sessionId, epoch: 1, runner_id: runner.runnerId, client: 'browser' as const },
      ...{ version: '1', remaining_ms: 600_000 },
      layers: [
        {
          layer: 'session',
          sites: siteRules.parse({ ports: [80, 443, site.port, w.site.port], deny: ['denied.test'] }),
        },
      ],
    },
  });
  expect((await runner.post('/assign', { token })).status).toBe(200);
  client = await connect(runner.url, mcpToken);
}, 60_000);
afterAll(async () => {
  await client?.close();
  await runner?.dispose();
  await controller?.close();
  await site?.close();
  await w?.close();
});
beforeEach(async () => {
  await call('browser_close');
});

interface Part {
  type: string;
  text?: string;
  data?: string;
}

async function call(name: string, args: Record<string, unknown> = {}) {
  const result = await client.callTool({ name, arguments: args });
  const content = result.content as Part[]; // the tool-result shape of the protocol
  const text = content.map(part => part.text ?? '').join('\n');
  seen.push(text);
  return { text, content, failed: result.isError === true };
}
const goTo = (url: string) => call('browser_navigate', { url });
const login = async (args: object = {}) => {
  const { text } = await call('browser_login', {
    usernameSelector: '#u',
    passwordSelector: '#p',
    submitSelector: 'button',
    ...args,
  });
  return JSON.parse(text);
};
const posted = (path: string) => site.arrived.filter(({ url, all }) => url === path && all.startsWith('POST')).at(-1);

test.each(['https://denied.test/', 'http://denied.test/'])(
  'a click that leads to %s fails with the code of the way out, and so do a key, a script and the way back',
  async url => {
    const link = `() => { document.body.innerHTML = '<a id=denied href="${url}">Offer</a>'; document.links[0].focus(); return 1 }`;
    for (const [name, args] of [
      ['browser_click', { target: '#denied' }],
      ['browser_click', { selector: '#denied' }],
      ['browser_press_key', { key: 'Enter' }],
      ['browser_evaluate', { function: `() => { location.href = '${url}' }` }],
    ] as const) {
      await goTo(at('evil.test', '/login'));
      await call('browser_evaluate', { function: link });
      const result = await client.callTool({ name, arguments: args });
      expect(result, name).toMatchObject({ isError: true, _meta: { [CODE_META]: 'site_denied' } });
    }
    await goTo(url);
    await goTo(at('evil.test', '/login'));
    const back = await client.callTool({ name: 'browser_navigate_back', arguments: {} });
    expect(back).toMatchObject({ isError: true, _meta: { [CODE_META]: 'site_denied' } });
    // A tab beside it, and a call that only looks, do not fail.
    await goTo(at('evil.test', '/login'));
    await call('browser_evaluate', { function: link.replace('id=denied', 'id=denied target=_blank') });
    const beside = await call('browser_click', { target: '#denied' });
    expect([beside.failed, beside.text]).toEqual([false, expect.stringContaining('site_denied')]);
    expect((await call('browser_snapshot')).failed).toBe(false);
  },
);

test("[A8] a login finds the credential by the page's own domain, and answers nothing but how it went", async () => {
  await goTo(at('shop.test', '/login'));
  expect(await login()).toEqual({ success: true, status: 'ok', domain: 'shop.test', message: expect.any(String) });
  expect(Object.fromEntries(posted('/welcome')?.form ?? [])).toMatchObject({ username: USERNAME, password: PASSWORD });
  // A subdomain is of the same registrable domain; Enter sends the form; names with underscores do as well.
  await goTo(at('accounts.shop.test', '/login'));
  const { text } = await call('browser_login', { username_selector: '#u', password_selector: '#p' });
  expect(JSON.parse(text).status).toBe('ok');
  // A key of the vault that is no domain is good where the policy says.
  await goTo(at('bank.test', '/login'));
  expect(await login()).toMatchObject({ status: 'ok', domain: 'bank.test' });
  expect(posted('/welcome')?.form.get('password')).toBe('banker-4711-secret');
  const logins = await eventually('the events', () => {
    const found = controller.events.filter(({ kind }) => kind === 'login');
    return found.length >= 3 ? found : undefined;
  });
  expect(logins.map(({ data }) => data)).toEqual([
    { domain: 'shop.test', status: 'ok' },
    { domain: 'shop.test', status: 'ok' },
    { domain: 'bank.test', status: 'ok' },
  ]);
});

test('a credential that was stored with its url is good there, without a policy, and nowhere else', async () => {
  await goTo(at('grocer.test', '/login'));
  expect(await login()).toMatchObject({ status: 'ok', domain: 'grocer.test' });
  expect(posted('/welcome')?.form.get('password')).toBe('grocer-4711-secret');
  await goTo(at('evil.test', '/login'));
  expect(await login({ site: 'walmart' })).toMatchObject({ status: 'origin_refused' });
});

describe('a credential of which nothing says where it may be used', () => {
  const questions = () => controller.userActions.filter(({ credential }) => credential !== null);
  /** As the person answers. */
  const answer = (status: 'done' | 'declined') => {
    const question = questions().at(-1);
    if (question !== undefined) Object.assign(question, { status });
  };
  const BAKERY = { site: 'bakery' };

  test('is in no instructions, and its first fill asks the person, in words that no agent chose', async () => {
    expect(client.getInstructions()).not.toContain('BAKERY');
    await goTo(at('www.bakery.test', '/login'));
    expect(await login()).toMatchObject({ success: false, status: 'person_asked' });
    expect(await login()).toMatchObject({ status: 'person_asked' });
    expect(questions()).toHaveLength(1);
    const host = `www.bakery.test:${site.port}`;
    expect(questions()).toMatchObject([
      { reason: `Use the password of bakery at ${host}?`, credential: { ...BAKERY, host } },
    ]);
    expect(posted('/welcome')?.form.get('password')).not.toBe('baker-4711-secret');
  });

  test('is filled there once the person allows it, by every tool, and elsewhere they are asked again', async () => {
    await goTo(at('www.bakery.test', '/login'));
    await login();
    answer('done');
    expect(await login()).toMatchObject({ success: true, status: 'ok' });
    expect(posted('/welcome')?.form.get('password')).toBe('baker-4711-secret');
    await goTo(at('www.bakery.test', '/login'));
    const typed = await call('browser_type', { target: '#p', text: 'BAKERY_PASSWORD' });
    expect([typed.failed, typed.text]).toEqual([false, expect.stringContaining('was filled in')]);
    expect(questions()).toHaveLength(1);

    await goTo(at('florist.test', '/login'));
    const other = await call('browser_type', { target: '#p', text: 'BAKERY_PASSWORD' });
    expect(other.text).toContain('person_asked');
    answer('declined');
    const refused = await call('browser_fill_and_submit', {
      fields: [{ selector: '#p', value: 'BAKERY_PASSWORD' }],
    });
    expect(refused.text).toContain('origin_refused');
    expect(refused.text).toContain('the person declined');
    expect(await login(BAKERY)).toMatchObject({ status: 'origin_refused' });
    expect(questions()).toHaveLength(2);
  });

  test('is asked about by no page of another name unless the agent names it, and never over http', async () => {
    await goTo(at('evil.test', '/login'));
    expect(await login()).toMatchObject({ status: 'no_credential' });
    await goTo(`http://evil.test:${w.site.port}/`);
    const { text } = await call('browser_type', { target: 'body', text: 'BAKERY_PASSWORD' });
    expect(text).toContain('origin_refused');
    expect(questions()).toHaveLength(2);
  });
});

test('[B3] the code of the moment is filled in, on the page of the password or the one that follows', async () => {
  await goTo(at('shop.test', '/login-with-code'));
  expect(await login({ totpSelector: '#c' })).toMatchObject({ status: 'ok' });
  expect(posted('/welcome')?.form.get('code')).toBe('492837');
  await goTo(at('bank.test', '/login-with-code'));
  expect(await login({ totpSelector: '#c' })).toMatchObject({ status: 'no_totp' });
});

test('reports a step that only a person can take', async () => {
  for (const path of ['/login-with-code', '/login-with-captcha']) {
    await goTo(at('shop.test', path));
    expect(await login()).toMatchObject({
      status: 'captcha_or_mfa',
      message: expect.stringContaining('browser_request_user_action'),
    });
  }
  await goTo(at('shop.test', '/login-refusing'));
  expect(await login()).toMatchObject({ status: 'login_form_still_shown' });
});

test('a field that is missing, hidden or would show the password gets nothing', async () => {
  await goTo(at('shop.test', '/login'));
  expect(await login({ usernameSelector: '#nobody' })).toMatchObject({ status: 'field_not_found' });
  expect(await login({ passwordSelector: '#hidden' })).toMatchObject({ status: 'field_refused' });
  expect(await login({ passwordSelector: '#shown' })).toMatchObject({ status: 'field_refused' });
  expect((await call('browser_type', { target: '#shown', text: 'SHOP_TEST_PASSWORD' })).text).toContain(
    'field_refused',
  );
  expect(await login({ domain: 'evil.test' })).toMatchObject({ status: 'origin_refused' });
  expect(posted('/welcome')?.form.get('password')).not.toBe('');
});

test.each([
  ['another site', () => at('evil.test', '/login')],
  ['a look-alike', () => at('sh0p.test', '/login')],
  ['a host that starts like it', () => at('shop.test.evil.test', '/login')],
  ['a user name that looks like it', () => at('shop.test@evil.test', '/login')],
  ['the site without https', () => `http://site.test:${w.site.port}/fields`],
  ['a page without an origin', () => 'data:text/html,<input id=u><input id=p type=password><button>In</button>'],
])('%s gets neither a login nor a value for a name', async (_what, url) => {
  await goTo(url());
  expect((await login()).status).toMatch(/^(no_credential|origin_refused)$/);
  expect(['no_credential', 'origin_refused']).toContain((await login({ site: 'shop.test' })).status);
  for (const [target, text] of [
    ['#u', 'SHOP_TEST_USERNAME'],
    ['#p', 'SHOP_TEST_PASSWORD'],
    ['#u', 'SHOP_TEST_TOTP'],
  ] as const) {
    expect((await call('browser_type', { target, text })).text).toContain('origin_refused');
    const fields = [{ target, name: 'x', type: 'textbox', value: text }];
    expect((await call('browser_fill_form', { fields })).text).toContain('origin_refused');
    expect((await call('browser_fill_and_submit', { fields: [{ selector: target, value: text }] })).text).toContain(
      'origin_refused',
    );
  }
});

test('a frame of a stranger, or the site in a frame of a stranger, gets nothing', async () => {
  const inFrame = (id: string) => `frameLocator('iframe').locator('${id}')`;
  for (const url of [
    at('shop.test', `/framing?from=${encodeURIComponent(at('evil.test', '/grabbing'))}`),
    at('evil.test', `/framing?from=${encodeURIComponent(at('shop.test', '/login'))}`),
  ]) {
    await goTo(url);
    const { status } = await login({ usernameSelector: inFrame('#u'), passwordSelector: inFrame('#p') });
    expect(['origin_refused', 'no_credential']).toContain(status);
    expect((await call('browser_type', { target: inFrame('#p'), text: 'SHOP_TEST_PASSWORD' })).text).toContain(
      'origin_refused',
    );
  }
  // In a frame of its own site it is filled in.
  await goTo(at('shop.test', `/framing?from=${encodeURIComponent(at('accounts.shop.test', '/login'))}`));
  expect((await call('browser_type', { target: inFrame('#p'), text: 'SHOP_TEST_PASSWORD' })).failed).toBe(false);
});

test('a page that leaves, or moves the focus to a stranger, while it is filled gives nothing away', async () => {
  await goTo(at('shop.test', `/leaving?from=${encodeURIComponent(at('evil.test', '/grabbing'))}`));
  const { status } = await login();
  expect(['page_changed', 'origin_refused', 'field_not_found']).toContain(status);
  await goTo(at('shop.test', `/framing?from=${encodeURIComponent(at('evil.test', '/grabbing'))}`));
  expect(await login()).toMatchObject({ status: 'ok' });
  expect(posted('/welcome')?.form.get('password')).toBe(PASSWORD);
});

test('a value that a page repeats, in any spelling, is in no result', async () => {
  await goTo(at('shop.test', '/reflecting'));
  for (const [target, text] of [
    ['#u', 'SHOP_TEST_USERNAME'],
    ['#p', 'SHOP_TEST_PASSWORD'],
  ] as const) {
    await call('browser_type', { target, text });
    for (const format of ['text', 'html', 'accessibility', 'links']) await call('browser_get_content', { format });
    for (const name of ['browser_snapshot', 'browser_console_messages', 'browser_network_requests'])
      await call(name, { level: 'error' });
    await call('browser_tabs', { action: 'list' });
    await call('browser_find', { text: 'typed' });
  }
  expect((await call('browser_evaluate', { function: '() => btoa(p.value)' })).text).toContain('secret_on_page');
  expect(
    (await call('browser_evaluate', { target: '#p', function: 'p => [...p.value].map(c => c.charCodeAt(0))' })).text,
  ).toContain('secret_on_page');
  for (const [name, args] of [
    ['browser_find', { regex: 'textbox: c' }],
    ['browser_press_key', { key: 'Control+c' }],
  ] as const)
    expect((await call(name, { ...args })).text).toContain('secret_on_page');
  // A form that is cleared may still have it elsewhere; one that was loaded again no longer has it.
  await call('browser_type', { target: '#p', text: '' });
  const script = { function: '() => p.value.length' };
  expect((await call('browser_evaluate', script)).text).toContain('secret_on_page');
  await goTo(at('shop.test', '/login'));
  expect((await call('browser_evaluate', script)).text).toContain('### Result\n0');
});

test('the way out is the proxy alone, and its refusals are explained in words', async () => {
  expect((await goTo('https://denied.test/')).text).toMatch(
    /denied\.test:443: A policy denies this site\. \(site_denied\)/,
  );
  expect((await goTo('https://169.254.169.254/latest/')).text).toContain('(internal_address)');
  expect((await goTo(`http://127.0.0.1:${new URL(runner.url).port}/healthz`)).text).not.toContain('boot_id');
  expect((await goTo(`http://localhost:${new URL(runner.url).port}/healthz`)).text).not.toContain('boot_id');
});

test.each([
  ['https', 'https://denied.test/', 'site_denied'],
  ['http', 'http://denied.test/', 'site_denied'],
  ['a metadata address', 'http://169.254.169.254/latest/', 'internal_address'],
  ['a name that is none', 'http://nowhere.test/', 'action_failed'],
])('a navigation that the way out refuses fails with its code: %s', async (_what, url, code) => {
  for (const [name, args] of [
    ['browser_navigate', { url }],
    ['browser_navigate', { url, screenshot: false }],
    ['browser_open', { url }],
    ['browser_tabs', { action: 'new', url }],
  ] as const) {
    await goTo(at('shop.test', '/login'));
    const result = await client.callTool({ name, arguments: args });
    expect(result, name).toMatchObject({ isError: true, _meta: { [CODE_META]: code } });
    expect(result.structuredContent, name).toMatchObject({
      success: false,
      error: { code },
      hints: [expect.any(String)],
    });
  }
  const allowed = await client.callTool({ name: 'browser_navigate', arguments: { url: at('shop.test', '/login') } });
  expect(allowed.isError).toBeFalsy();
});

test('the browser has connections to its forwarder and no others, whatever a page tries', async () => {
  const packets: string[] = [];
  const stun = createSocket('udp4', packet => packets.push(packet.toString('hex')));
  await new Promise<void>(bound => stun.bind(0, '127.0.0.1', bound));
  await goTo(at('evil.test', '/login'));
  const tries = `async () => {
    for (const rel of ['dns-prefetch', 'preconnect', 'prefetch'])
      document.head.append(Object.assign(document.createElement('link'), { rel, href: 'https://bank.test:${site.port}/' + rel }));
    const peer = new RTCPeerConnection({ iceServers: [{ urls: ['stun:evil.test:3478', 'stun:127.0.0.1:${stun.address().port}'] }] });
    peer.createDataChannel('x');
    const found = [];
    peer.onicecandidate = ({ candidate }) => candidate && found.push(candidate.candidate);
    await peer.setLocalDescription(await peer.createOffer());
    await fetch('https://bank.test:${site.port}/fetched', { mode: 'no-cors' }).catch(() => {});
    await new Promise(done => setTimeout(done, 1500));
    return found.length;
  }`;
  const { text } = await call('browser_evaluate', { function: tries });
  expect(text).toContain('### Result\n0');
  expect(site.arrived.map(({ url }) => url)).toContain('/fetched');
  const open = connectionsOfGroup(runner.browserPid());
  const others = open.filter(({ protocol, local }) => protocol === 'udp' || !local);
  expect(new Set(open.map(({ remotePort }) => remotePort)).size).toBe(1);
  expect(others).toEqual([]);
  expect(packets).toEqual([]);
  stun.close();
});

test('no value is in any result, event, log line, or request to another site', async () => {
  await eventually('the last events', () =>
    controller.events.find(({ data }) => JSON.stringify(data).includes('localhost')),
  );
  const strangers = site.arrived.filter(({ host }) => /evil|sh0p/.test(host));
  expect(strangers.length).toBeGreaterThan(5);
  const texts = [...seen, JSON.stringify(controller.events), runner.output(), ...strangers.map(({ all }) => all)];
  for (const value of [USERNAME, PASSWORD, 'banker-4711-secret'])
    for (const text of texts) expect(leaksOf(text, value), text.slice(0, 300)).toEqual([]);
  for (const text of texts) expect(text).not.toContain('492837');
  expect(seen.length).toBeGreaterThan(100);
});
