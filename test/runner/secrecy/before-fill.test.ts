import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ENV } from '../../../contract/names.ts';
import { type LeasedRunner, startLease } from '../start-lease.ts';

/** A common one, of which more than half is a word of most login pages, and one that no page has. */
const PASSWORDS = ['password123', 'zq8vKx'] as const;
const USERNAME = 'ada-lovelace';
const GUESSES = [
  'password12',
  'Password',
  'word123',
  'password123',
  'zq8vKx',
  'cGFzc3dvcmQxMjM=',
  '321drowssap',
  USERNAME,
];

const PAGE = `<!doctype html><title>Password of ${USERNAME}</title>
<label>Password <input type="password" name="password"></label><label>User <input name="username"></label>
<p>Names: SHOP_PASSWORD and SHOP_USERNAME. password1234, my-password123-old, (password123), ${USERNAME}</p>
<ul>${GUESSES.map(guess => `<li><a href="/${guess}?q=${guess}">${guess}</a></li>`).join('')}</ul>
<script>for (const guess of ${JSON.stringify(GUESSES)}) console.error(guess);</script>`;

let server: Server;
let leases: LeasedRunner[] = [];
/** Only the first may be given the credential. */
let [own, foreign] = ['', ''];
beforeAll(async () => {
  server = createServer((_request, response) => response.setHeader('content-type', 'text/html').end(PAGE));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = Object(server.address());
  [own, foreign] = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
  leases = await Promise.all(
    PASSWORDS.map(password =>
      startLease({
        toolset: 'both',
        env: { [ENV.insecureLoginOrigins]: own },
        prepare(controller) {
          controller.secrets = { SHOP_USERNAME: USERNAME, SHOP_PASSWORD: password };
        },
      }),
    ),
  );
});
afterAll(async () => {
  for (const lease of leases) await lease[Symbol.asyncDispose]();
  server.close();
});

/** Numbers that two browsers give to the same element, in their order. */
function withoutNumbers(text: string): string {
  const order = new Map<string, string>();
  return text.replace(/\b(?:f\d+)?e\d+\b/g, ref => {
    const known = order.get(ref) ?? `e#${order.size}`;
    order.set(ref, known);
    return known;
  });
}

/** The whole answer, as the agent is given it. */
async function answer(lease: LeasedRunner | undefined, name: string, args: Record<string, unknown>): Promise<string> {
  const { content, ...rest } = Object(await lease?.client.callTool({ name, arguments: args }));
  return withoutNumbers(JSON.stringify({ content, ...rest }));
}

const READS: [string, Record<string, unknown>][] = [
  ['browser_snapshot', {}],
  ['browser_snapshot', { snapshot: 'playwright' }],
  ['browser_find', { text: 'password' }],
  ['browser_wait_for', { text: 'password123' }],
  ['browser_evaluate', { function: '() => document.body.innerHTML' }],
  ['browser_get_content', { format: 'text' }],
  ['browser_get_content', { format: 'links' }],
  ['browser_get_content', {}],
  ['browser_console_messages', { level: 'error' }],
  ['browser_network_requests', { static: true }],
  ['browser_tabs', { action: 'list' }],
  ['browser_type', { target: 'input[name=username]', text: 'password123' }],
  ['browser_type', { target: 'input[name=nothing]', text: 'password123' }],
  ['browser_click', { target: 'text=password12' }],
  ['browser_login', { passwordSelector: 'input[name=password]' }],
  ['browser_navigate', { url: 'http://password123.localhost:1/' }],
];

test('answers from a site where the credential cannot be filled are the same under any password', async () => {
  for (const [name, args] of [['browser_navigate', { url: foreign }] as const, ...READS]) {
    const [one, other] = await Promise.all(leases.map(lease => answer(lease, name, args)));
    expect(one, name).toBe(other);
    expect(one, name).not.toContain('<secret>');
  }
});

test('a page of its own site shows all but the whole value, as a word of its own; names stay', async () => {
  const [lease] = leases;
  await answer(lease, 'browser_navigate', { url: own });
  const text = await answer(lease, 'browser_get_content', { format: 'text' });
  expect(text).toContain('Names: SHOP_PASSWORD and SHOP_USERNAME. password1234,');
  expect(text).toContain('my-<secret>SHOP_PASSWORD</secret>-old, (<secret>SHOP_PASSWORD</secret>)');
  expect(text).toContain('<secret>SHOP_USERNAME</secret>');
  expect(text).not.toContain(USERNAME);
  expect(text).toMatch(/Password\b.*User/s);
  expect(text).toContain('word123');
});

test('a tab of another site is beside it: nothing of the answer depends on the password', async () => {
  const [lease] = leases;
  await answer(lease, 'browser_tabs', { action: 'new', url: foreign });
  expect(await answer(lease, 'browser_tabs', { action: 'list' })).not.toContain('<secret>');
  await answer(lease, 'browser_tabs', { action: 'close' });
});

test('once it was filled in, more than half of it is a secret on every site, and names stay readable', async () => {
  const [lease] = leases;
  await answer(lease, 'browser_navigate', { url: own });
  const filled = await answer(lease, 'browser_type', { target: 'input[name=password]', text: 'SHOP_PASSWORD' });
  expect(filled).not.toMatch(/refused|"isError"/);
  const text = await answer(lease, 'browser_navigate', { url: foreign });
  expect(text).toContain('Names: SHOP_PASSWORD and SHOP_USERNAME.');
  expect(text).not.toMatch(/password12|word123/);
  // The username was filled nowhere.
  expect(text).toContain(USERNAME);
});
