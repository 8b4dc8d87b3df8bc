import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DemoSite } from '../../local/demo-site.ts';
import { eventually } from '../eventually.ts';
import { command, type Up } from '../local/machine.ts';
import { type CommandStack, commandOutput, commandRefusal, startCommandStack } from './command-stack.ts';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);

describe('commands on a running stack', { timeout: 180_000 }, () => {
  let on: CommandStack;
  let stack: Up;
  let site: DemoSite;
  beforeAll(async () => {
    on = await startCommandStack();
    ({ stack, site } = on);
  });
  afterAll(() => on?.[Symbol.asyncDispose]());

  it('[P4] offers policy presets, and adds those that are taken to the policy that is there', async () => {
    const { presets } = commandOutput(await on.run('policy', 'presets'));
    expect(presets.map(({ name }: { name: string }) => name)).toEqual(['chain-allowlist', 'ssrf', 'https-only']);
    const apply = ['policy', 'apply', '--user', 'eve', '--preset'];
    expect(commandOutput(await on.run(...apply, 'ssrf,https-only,chain-allowlist'))).toEqual({
      created: 6,
      skipped: 0,
    });
    expect(commandOutput(await on.run(...apply, 'https-only'))).toEqual({ created: 0, skipped: 2 });
    expect(commandOutput(await on.run('policy', 'show', '--user', 'eve')).policy).toMatchObject({
      sites: { httpsOnly: true },
    });
    const wrong = await on.run(...apply, 'ssfr');
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('"ssfr" is no preset')]);
    expect(commandRefusal(await on.run('policy', 'apply')).code).toBe(2);

    // They decide the calls of a browser that is leased under them.
    const names = ['--user', 'eve', '--conversation', 'p', '--no-video', '--toolset', 'compat'];
    const { session_id: id } = commandOutput(await on.run('session', 'start', ...names));
    const verdict = async (...call: string[]) =>
      commandOutput(await on.run('policy', 'test', ...call, '--session', id, '--untrusted')).action;
    expect(await verdict('browser_navigate', '{"url": "http://169.254.169.254/"}')).toBe('block');
    expect(await verdict('browser_navigate', '{"url": "https://example.com/"}')).toBe('allow');
    commandOutput(await on.run('session', 'close', id));
    commandOutput(await on.run('policy', 'delete', '--user', 'eve'));
  });

  it('logs in by hand: the names of a credential are typed, command by command', async () => {
    const set = ['credentials', 'set', 'bakery', '--user', 'kim', '--username', site.login.username];
    commandOutput(await on.runWith(site.login.password, ...set));
    const { session_id: id } = commandOutput(
      await on.run('session', 'start', '--user', 'kim', '--conversation', 'c', '--no-video'),
    );
    const page = async (...args: string[]) => commandOutput(await on.run('page', ...args, '--session', id));
    await page('goto', `${site.url}/login`);
    expect(await page('type', 'input[name=username]', 'BAKERY_USERNAME')).toEqual({
      ...{ success: true, url: `${site.url}/login`, title: expect.any(String) },
    });
    await page('type', 'input[name=password]', 'BAKERY_PASSWORD');
    expect(await page('click', 'button')).toMatchObject({ success: true, url: `${site.url}/orders` });
    commandOutput(await on.run('session', 'close', id));
    commandOutput(await on.run('credentials', 'delete', 'bakery', '--user', 'kim'));
  });

  it('acts on the page of a session with the default toolset, and prints the same form of result', async () => {
    const names = ['--user', 'pat', '--conversation', 'default-tools'];
    commandOutput(await on.run('session', 'start', ...names, '--no-video'));
    const where = { success: true, url: `${site.url}/`, title: 'The Demo Bakery' };
    expect(commandOutput(await on.run('page', 'goto', `${site.url}/`, ...names))).toEqual(where);
    const extracted = commandOutput(await on.run('page', 'extract', ...names));
    expect(extracted).toEqual({ ...where, content: expect.stringContaining('Fresh every morning') });
    expect(commandOutput(await on.run('page', 'extract', '--mode', 'title', ...names))).toEqual(where);
    commandOutput(await on.run('page', 'goto', `${site.url}/login`, ...names));
    expect(commandOutput(await on.run('page', 'wait-for', 'form input', ...names)).success).toBe(true);
    expect(commandOutput(await on.run('page', 'type', 'input[type=password]', 'typed', ...names)).success).toBe(true);
    const file = join(stack.folder, 'pages', 'default.png');
    expect(commandOutput(await on.run('page', 'screenshot', file, ...names))).toMatchObject({ success: true, file });
    expect((await readFile(file)).subarray(0, 4)).toEqual(PNG);
    for (const command of [
      ['click', '#no-such-element'],
      ['wait-for', '#no-such-element', '--timeout', '1'],
    ]) {
      const failed = await on.run('page', ...command, ...names);
      expect([failed.code, JSON.parse(failed.stdout)]).toEqual([1, expect.objectContaining({ success: false })]);
    }
    commandOutput(await on.run('session', 'close', ...names));
  });

  it('shows the token of a lease only when asked to', async () => {
    const start = ['session', 'start', '--user', 'eve', '--conversation', 'c', '--no-video'];
    const hidden = commandOutput(await on.run(...start));
    expect(hidden.mcp_headers).toEqual({ Authorization: '(hidden; --show-token shows it)' });
    const shown = commandOutput(await on.run(...start, '--show-token'));
    expect(shown.mcp_headers.Authorization).toMatch(/^Bearer \S{40,}$/);
    const token = shown.mcp_headers.Authorization.slice('Bearer '.length);
    for (const args of [
      ['session', 'show', '--user', 'eve', '--conversation', 'c', '--events'],
      ['session', 'list', '--user', 'eve'],
      ['session', 'close', '--user', 'eve', '--conversation', 'c'],
    ])
      expect((await on.run(...args)).stdout).not.toContain(token);
  });

  it('[S7] every get-or-create mints an MCP token, and those before work until they expire', async () => {
    const names = ['--user', 'sam', '--conversation', 'tokens'];
    const start = async () => commandOutput(await on.run('session', 'start', ...names, '--no-video', '--show-token'));
    const [first, second] = [await start(), await start()];
    const [one, two] = [first.mcp_headers.Authorization, second.mcp_headers.Authorization];
    for (const { Authorization } of [first.mcp_headers, second.mcp_headers]) {
      const claims = JSON.parse(Buffer.from(Authorization.split('.')[1], 'base64url').toString());
      expect(claims).toMatchObject({ session_id: first.session_id, epoch: 1, aud: expect.stringMatching(/^mcp\//) });
      expect(claims.exp - claims.iat).toBe(600);
    }
    const statusOf = async (authorization: string) => {
      const headers = {
        authorization,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        connection: 'close', // one that is kept may break with its runner, just as it is used again
      };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
      return (await fetch(first.mcp_url, { method: 'POST', headers, body })).status;
    };
    expect(await Promise.all([one, two, `${two}x`].map(statusOf))).toEqual([200, 200, 401]);
    commandOutput(await on.run('session', 'close', ...names));
    // A client of the lease still reads why it ended, at the same address.
    expect([await statusOf(one), await statusOf(`${one}x`)]).toEqual([200, 401]);
  });

  it('checks on a page of a site whether a saved login still holds', async () => {
    const { hostname: domain } = new URL(site.url);
    const login = { name: 'bakery', value: 'ada', domain, path: '/', expires: -1 };
    const cookies = [{ ...login, httpOnly: true, secure: false, sameSite: 'Lax' }];
    const input = JSON.stringify({ cookies, origins: [] });
    commandOutput(
      await command(['--folder', stack.folder, 'profile', 'import', 'work', '-', '--user', 'ada'], { input }),
    );
    const check = (...what: string[]) =>
      on.run('profile', 'check', 'work', '--user', 'ada', '--url', `${site.url}/orders`, ...what);
    const at = { name: 'work', url: `${site.url}/orders` };
    expect(commandOutput(await check('--selector', 'h1 >> text=Welcome back'))).toEqual({ ...at, logged_in: true });
    expect(commandRefusal(await check())).toMatchObject({
      code: 2,
      line: expect.stringContaining('--selector or --text'),
    });
  });

  it('imports, lists, shows, exports, restores, saves and deletes profiles', async () => {
    const { hostname: domain } = new URL(site.url);
    const login = { name: 'bakery', domain, path: '/', expires: -1, httpOnly: true, secure: false, sameSite: 'Lax' };
    const stateOf = (value: string) => ({ cookies: [{ ...login, value }], origins: [] });
    const profile = (verb: string, ...more: string[]) => on.run('profile', verb, ...more, '--user', 'eve');
    const [given, written] = [join(stack.folder, 'given.json'), join(stack.folder, 'written.json')];
    for (const [place, value] of ['first', 'second'].entries()) {
      await writeFile(given, JSON.stringify(stateOf(value)));
      expect(commandOutput(await profile('import', 'shop', given))).toEqual({ name: 'shop', version: place + 1 });
    }
    const shown = { name: 'shop', version: 2, domains: [{ domain, expires_at: null, logged_in: true }] };
    expect(commandOutput(await profile('list'))).toMatchObject({ profiles: [shown] });
    expect(commandOutput(await profile('show', 'shop'))).toMatchObject({
      ...shown,
      versions: [{ version: 2 }, { version: 1 }],
    });
    expect(commandOutput(await profile('export', 'shop', written))).toEqual({ name: 'shop', file: written });
    expect(JSON.parse(await readFile(written, 'utf8'))).toEqual(stateOf('second'));
    expect((await stat(written)).mode & 0o077).toBe(0);
    expect(commandOutput(await profile('restore', 'shop', '1'))).toEqual({ name: 'shop', version: 3 });
    expect(commandOutput(await profile('export', 'shop', '-'))).toEqual(stateOf('first'));

    const who = ['--user', 'eve', '--conversation', 'shopping'];
    commandOutput(await on.run('session', 'start', ...who, '--no-video', '--profile', 'shop'));
    expect(commandOutput(await profile('save', 'shop'))).toEqual({ name: 'shop', version: expect.any(Number) });
    expect(commandRefusal(await profile('delete', 'shop')).line).toMatch(/^profile_in_use: /);
    commandOutput(await on.run('session', 'close', ...who));
    await eventually('the last save', async () => (await profile('delete', 'shop')).code === 0);
    expect(commandOutput(await profile('list'))).toEqual({ profiles: [] });
    expect(commandRefusal(await profile('show', 'shop')).line).toMatch(/^profile_not_found: /);
  });

  it('prints a table for people, without control characters', async () => {
    const tags = ['--tag', 'note=\u001b[2Jx'];
    const refused = await on.run('session', 'start', '--user', 'tab', '--conversation', 'c', ...tags);
    expect(refused.code).toBe(2);
    commandOutput(await on.run('session', 'start', '--user', 'täb', '--conversation', 'c', '--no-video'));
    const { stdout } = await on.run('session', 'list', '--user', 'täb', '-o', 'table');
    const [head, row] = stdout.split('\n');
    expect(head).toMatch(/^SESSION +USER +CONVERSATION +STATUS +EPOCH +EXPIRES +REASON$/);
    expect(row?.indexOf('täb')).toBe(head?.indexOf('USER'));
    await on.run('session', 'close', '--user', 'täb', '--conversation', 'c');
  });

  it('smoke says which step failed, and leaves no session', async () => {
    const dead = await on.run('smoke', 'http://127.0.0.1:2/');
    expect(dead.code).toBe(1);
    expect(dead.stdout).toBe('');
    expect(dead.stderr).toContain('FAILED: page.goto');
    const refused = await on.run('smoke', 'http://127.0.0.1/'); // the way out is open for the demo site alone
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('port_refused');
    expect(
      commandOutput(await on.run('session', 'list', '--status', 'ready', '--user', 'omicron-browser-smoke')).sessions,
    ).toEqual([]);
    expect((await on.run('smoke', 'file:///etc/passwd')).code).toBe(2);
  });

  it('doctor names what is missing, and the command that helps', async () => {
    const nowhere = ['credentials', 'set', 'bakery', '--user', 'zoe', '--username', 'zoe@example.com'];
    commandOutput(await on.runWith('secret\n', ...nowhere));
    const sick = await command(['--folder', stack.folder, 'doctor', '--user', 'zoe'], {
      env: { OMICRON_CHROMIUM: '/no/such/chromium' },
    });
    expect(sick.code).toBe(1);
    const problems = JSON.parse(sick.stdout).checks.filter(({ ok }: { ok: boolean }) => !ok);
    expect(problems.map(({ check }: { check: string }) => check)).toEqual(['browser', 'runner', 'credentials']);
    expect(problems[2].detail).toContain('omicron-browser credentials set bakery --url DOMAIN');
    expect(problems[1].detail).toContain('/no/such/chromium');
  });
});
