import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { isRunning, processId } from '../../controller/runners/local/process.ts';
import { type DemoSite, startDemoSite } from '../../local/demo-site.ts';
import { eventually } from '../eventually.ts';
import { command, type Finished, newFolder, processTree, runnerPids, shell, type Up, up } from '../local/machine.ts';
import { migratedDatabaseUrl } from '../postgres.ts';
import { runHere } from './run-here.ts';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

// Each group of commands runs as a process once, and so does what only a process has; the others run here.
describe('omicron-browser', { timeout: 180_000 }, () => {
  let stack: Up;
  let site: DemoSite;
  beforeAll(async () => {
    site = await startDemoSite();
    const { hostname, port } = new URL(site.url);
    stack = await up(await newFolder(), {
      OMICRON_USER_LIMIT: '1',
      OMICRON_MCP_TOKEN_SECONDS: '600',
      OMICRON_EGRESS_ALLOWED_CIDRS: `${hostname}/32`,
      OMICRON_INSECURE_LOGIN_ORIGINS: site.url,
    });
    const policy = JSON.stringify({ version: 1, sites: { ports: [443, Number(port)] } });
    json(await command(['--folder', stack.folder, 'policy', 'apply', '-'], { input: policy }));
  });
  afterAll(async () => {
    await stack.dispose();
    await site.close();
  });

  const inShell = (...args: string[]) => command(['--folder', stack.folder, ...args]);
  const run = (...args: string[]) => runHere(['--folder', stack.folder, ...args], { environment: shell() });
  const json = ({ code, stdout, stderr }: Finished) => {
    expect(stderr).toBe('');
    expect(code).toBe(0);
    return JSON.parse(stdout);
  };
  const refusal = ({ code, stdout, stderr }: Finished) => {
    expect(stdout).toBe('');
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    return { code, line: stderr.trimEnd() };
  };

  it('[S1] starts, lists, shows, closes and archives sessions, named by id or by user and conversation', async () => {
    const names = ['--user', 'ada', '--conversation', 'chat-1'];
    const started = json(
      await inShell('session', 'start', ...names, '--no-video', '--tag', 'team=search', '--toolset', 'both'),
    );
    expect(started).toMatchObject({ epoch: 1, mcp_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/) });
    const id = started.session_id;

    const listed = json(await run('session', 'list', '--user', 'ada', '--status', 'ready', '--tag', 'team=search'));
    expect(listed.sessions.map((each: { session_id: string }) => each.session_id)).toEqual([id]);
    expect(json(await run('session', 'list', '--tag', 'team=other')).sessions).toEqual([]);

    expect(json(await run('session', 'show', id))).toMatchObject({ session_id: id, status: 'ready', artifacts: [] });
    const shown = json(await inShell('session', 'show', ...names, '--events'));
    expect(shown.session_id).toBe(id);
    expect(shown.events.map((event: { kind: string }) => event.kind)).toContain('session.ready');
    expect(json(await run('session', 'show', id, '--code', 'policy_blocked')).events).toEqual([]);

    // unknown, or id and names that do not belong together: the same error, every time
    for (const wrong of [
      ['show', UNKNOWN],
      ['show', '--user', 'ada', '--conversation', 'chat-9'],
      ['show', id, '--user', 'bob'],
      ['close', id, '--user', 'bob'],
      ['close', id, '--conversation', 'chat-9'],
      ['archive', id, '--user', 'bob'],
      ['archive', '--user', 'bob', '--conversation', 'chat-1'],
    ]) {
      const { code, line } = refusal(await run('session', ...wrong));
      expect(code).toBe(3);
      expect(line).toMatch(/^session_not_found: /);
    }
    expect(json(await run('session', 'show', id)).status).toBe('ready');

    expect(json(await inShell('session', 'close', ...names))).toMatchObject({
      status: 'ended',
      ended_reason: 'released',
    });
    expect(json(await run('session', 'close', id)).status).toBe('ended');
    expect(json(await run('session', 'archive', id)).archived_at).not.toBeNull();
    expect(json(await run('session', 'list', '--user', 'ada')).sessions).toEqual([]);
    expect(json(await run('session', 'list', '--user', 'ada', '--archived')).sessions).toHaveLength(1);
  });

  it('[P4] offers policy presets, and adds those that are taken to the policy that is there', async () => {
    const { presets } = json(await run('policy', 'presets'));
    expect(presets.map(({ name }: { name: string }) => name)).toEqual(['chain-allowlist', 'ssrf', 'https-only']);
    const apply = ['policy', 'apply', '--user', 'eve', '--preset'];
    expect(json(await run(...apply, 'ssrf,https-only,chain-allowlist'))).toEqual({ created: 6, skipped: 0 });
    expect(json(await run(...apply, 'https-only'))).toEqual({ created: 0, skipped: 2 });
    expect(json(await run('policy', 'show', '--user', 'eve')).policy).toMatchObject({ sites: { httpsOnly: true } });
    const wrong = await run(...apply, 'ssfr');
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('"ssfr" is no preset')]);
    expect(refusal(await run('policy', 'apply')).code).toBe(2);

    // They decide the calls of a browser that is leased under them.
    const names = ['--user', 'eve', '--conversation', 'p', '--no-video', '--toolset', 'compat'];
    const { session_id: id } = json(await run('session', 'start', ...names));
    const verdict = async (...call: string[]) =>
      json(await run('policy', 'test', ...call, '--session', id, '--untrusted')).action;
    expect(await verdict('browser_navigate', '{"url": "http://169.254.169.254/"}')).toBe('block');
    expect(await verdict('browser_navigate', '{"url": "https://example.com/"}')).toBe('allow');
    json(await run('session', 'close', id));
    json(await run('policy', 'delete', '--user', 'eve'));
  });

  it('logs in by hand: the names of a credential are typed, command by command', async () => {
    const set = ['credentials', 'set', 'bakery', '--user', 'kim', '--username', site.login.username];
    json(await runHere(['--folder', stack.folder, ...set], { environment: shell(), input: site.login.password }));
    const { session_id: id } = json(
      await run('session', 'start', '--user', 'kim', '--conversation', 'c', '--no-video'),
    );
    const page = async (...args: string[]) => json(await run('page', ...args, '--session', id));
    await page('goto', `${site.url}/login`);
    expect(await page('type', 'input[name=username]', 'BAKERY_USERNAME')).toEqual({
      ...{ success: true, url: `${site.url}/login`, title: expect.any(String) },
    });
    await page('type', 'input[name=password]', 'BAKERY_PASSWORD');
    expect(await page('click', 'button')).toMatchObject({ success: true, url: `${site.url}/orders` });
    json(await run('session', 'close', id));
    json(await run('credentials', 'delete', 'bakery', '--user', 'kim'));
  });

  it('[S2] acts on the page of a live session, by id or by name, and prints one form of result', async () => {
    const names = ['--user', 'pat', '--conversation', 'page'];
    const none = refusal(await run('page', 'goto', site.url, ...names));
    expect(none).toEqual({ code: 3, line: expect.stringMatching(/^session_not_found: /) });
    const started = json(await run('session', 'start', ...names, '--no-video', '--toolset', 'both'));
    const by = ['--session', started.session_id];
    expect(json(await inShell('page', 'goto', `${site.url}/`, ...by))).toMatchObject({
      success: true,
      title: 'The Demo Bakery',
    });
    expect(json(await run('page', 'extract', ...names)).content).toContain('Fresh every morning');
    expect(json(await run('page', 'extract', '--mode', 'title', ...by))).toEqual({
      ...{ success: true, title: 'The Demo Bakery', url: `${site.url}/` },
    });
    json(await run('page', 'goto', `${site.url}/login`, ...by));
    expect(json(await run('page', 'wait-for', 'form input', ...by)).success).toBe(true);
    expect(json(await run('page', 'type', 'input[type=password]', 'typed', ...by)).success).toBe(true);
    expect(json(await run('page', 'click', 'input[type=password]', ...by)).success).toBe(true);
    const file = join(stack.folder, 'pages', 'page.png');
    expect(json(await run('page', 'screenshot', file, ...by))).toMatchObject({ success: true, file });
    expect((await readFile(file)).subarray(0, 4)).toEqual(PNG);
    const failed = await run('page', 'click', '#no-such-element', ...by);
    expect([failed.code, JSON.parse(failed.stdout)]).toEqual([1, expect.objectContaining({ success: false })]);
    expect(json(await run('session', 'show', started.session_id)).epoch).toBe(1);
    json(await run('session', 'close', ...names));
    const over = refusal(await inShell('page', 'extract', ...by));
    expect(over).toEqual({ code: 4, line: expect.stringMatching(/^lease_ended: /) });
  });

  it('acts on the page of a session with the default toolset, and prints the same form of result', async () => {
    const names = ['--user', 'pat', '--conversation', 'default-tools'];
    json(await run('session', 'start', ...names, '--no-video'));
    const where = { success: true, url: `${site.url}/`, title: 'The Demo Bakery' };
    expect(json(await run('page', 'goto', `${site.url}/`, ...names))).toEqual(where);
    const extracted = json(await run('page', 'extract', ...names));
    expect(extracted).toEqual({ ...where, content: expect.stringContaining('Fresh every morning') });
    expect(json(await run('page', 'extract', '--mode', 'title', ...names))).toEqual(where);
    json(await run('page', 'goto', `${site.url}/login`, ...names));
    expect(json(await run('page', 'wait-for', 'form input', ...names)).success).toBe(true);
    expect(json(await run('page', 'type', 'input[type=password]', 'typed', ...names)).success).toBe(true);
    const file = join(stack.folder, 'pages', 'default.png');
    expect(json(await run('page', 'screenshot', file, ...names))).toMatchObject({ success: true, file });
    expect((await readFile(file)).subarray(0, 4)).toEqual(PNG);
    for (const command of [
      ['click', '#no-such-element'],
      ['wait-for', '#no-such-element', '--timeout', '1'],
    ]) {
      const failed = await run('page', ...command, ...names);
      expect([failed.code, JSON.parse(failed.stdout)]).toEqual([1, expect.objectContaining({ success: false })]);
    }
    json(await run('session', 'close', ...names));
  });

  it('prints a link that opens the console, once', async () => {
    const { link } = json(await inShell('console'));
    const { origin, hash } = new URL(link);
    const headers = { origin, 'content-type': 'application/json' };
    const signIn = () =>
      fetch(`${origin}/api/sign-in`, { method: 'POST', headers, body: JSON.stringify({ token: hash.slice(1) }) });
    expect((await signIn()).status).toBe(204);
    expect((await signIn()).status).toBe(401);
    expect(await readFile(join(stack.folder, 'controller.log'), 'utf8')).not.toContain(hash.slice(1));
    expect((await fetch(`${origin}/api/links`, { method: 'POST' })).status).toBe(401);
  });

  it('shows the token of a lease only when asked to', async () => {
    const start = ['session', 'start', '--user', 'eve', '--conversation', 'c', '--no-video'];
    const hidden = json(await run(...start));
    expect(hidden.mcp_headers).toEqual({ Authorization: '(hidden; --show-token shows it)' });
    const shown = json(await run(...start, '--show-token'));
    expect(shown.mcp_headers.Authorization).toMatch(/^Bearer \S{40,}$/);
    const token = shown.mcp_headers.Authorization.slice('Bearer '.length);
    for (const args of [
      ['session', 'show', '--user', 'eve', '--conversation', 'c', '--events'],
      ['session', 'list', '--user', 'eve'],
      ['session', 'close', '--user', 'eve', '--conversation', 'c'],
    ])
      expect((await run(...args)).stdout).not.toContain(token);
  });

  it('[S7] every get-or-create mints an MCP token, and those before work until they expire', async () => {
    const names = ['--user', 'sam', '--conversation', 'tokens'];
    const start = async () => json(await run('session', 'start', ...names, '--no-video', '--show-token'));
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
    json(await run('session', 'close', ...names));
    // A client of the lease still reads why it ended, at the same address.
    expect([await statusOf(one), await statusOf(`${one}x`)]).toEqual([200, 401]);
  });

  it('reads a password from a pipe or the environment, never from its arguments, and never shows it', async () => {
    const password = 'correct horse "battery" stäple';
    const set = ['--folder', stack.folder, 'credentials', 'set'];
    const who = ['--user', 'ada', '--username', 'ada@example.com'];
    const piped = await command([...set, 'shop', ...who], { input: `${password}\n` });
    expect(json(piped)).toEqual({ site: 'shop', secret_names: ['SHOP_USERNAME', 'SHOP_PASSWORD'] });
    const environment = { ...shell(), BANK_PW: password };
    json(await runHere([...set, 'bank', ...who, '--password-env', 'BANK_PW'], { environment }));
    expect(json(await run('credentials', 'list', '--user', 'ada')).sites).toMatchObject([
      { site: 'bank', secret_names: ['BANK_USERNAME', 'BANK_PASSWORD'] },
      { site: 'shop', secret_names: ['SHOP_USERNAME', 'SHOP_PASSWORD'] },
    ]);
    expect((await run('--output', 'table', 'credentials', 'list', '--user', 'ada')).stdout).toContain(
      'nowhere: nothing says where "shop" may be used: store it again with its site',
    );
    for (const file of ['controller.log', 'secrets.jwe'])
      expect(await readFile(join(stack.folder, file), 'utf8')).not.toContain('battery');
    expect(piped.stdout + stack.said()).not.toContain('battery');

    const seed = 'JBSWY3DPEHPK3PXP';
    const both = await command([...set, 'mail', ...who, '--totp'], { input: `${password}\n${seed}\n` });
    expect(json(both)).toMatchObject({ site: 'mail', totp: true });
    expect(both.stdout).not.toContain(seed);
    json(await run('credentials', 'delete', 'mail', '--user', 'ada'));
    const setHere = (site: string, more: string[], input = '') =>
      runHere([...set, site, ...who, ...more], { environment: shell(), input });
    expect(refusal(await setHere('mail', ['--totp'], `${password}\n`)).line).toContain('TOTP');
    expect(refusal(await setHere('shop', [])).code).toBe(2);
    expect(refusal(await setHere('shop', ['--password-env', 'NOT_SET'])).line).toContain('NOT_SET');
    json(await run('credentials', 'delete', 'shop', '--user', 'ada'));
    json(await run('secrets', 'delete', 'shop', '--user', 'ada')); // its old name; nothing is left to delete
    expect(json(await run('credentials', 'list', '--user', 'ada')).sites).toHaveLength(1);
  });

  it('checks on a page of a site whether a saved login still holds', async () => {
    const { hostname: domain } = new URL(site.url);
    const login = { name: 'bakery', value: 'ada', domain, path: '/', expires: -1 };
    const cookies = [{ ...login, httpOnly: true, secure: false, sameSite: 'Lax' }];
    const input = JSON.stringify({ cookies, origins: [] });
    json(await command(['--folder', stack.folder, 'profile', 'import', 'work', '-', '--user', 'ada'], { input }));
    const check = (...what: string[]) =>
      run('profile', 'check', 'work', '--user', 'ada', '--url', `${site.url}/orders`, ...what);
    const at = { name: 'work', url: `${site.url}/orders` };
    expect(json(await check('--selector', 'h1 >> text=Welcome back'))).toEqual({ ...at, logged_in: true });
    expect(refusal(await check())).toMatchObject({ code: 2, line: expect.stringContaining('--selector or --text') });
  });

  it('imports, lists, shows, exports, restores, saves and deletes profiles', async () => {
    const { hostname: domain } = new URL(site.url);
    const login = { name: 'bakery', domain, path: '/', expires: -1, httpOnly: true, secure: false, sameSite: 'Lax' };
    const stateOf = (value: string) => ({ cookies: [{ ...login, value }], origins: [] });
    const profile = (verb: string, ...more: string[]) => run('profile', verb, ...more, '--user', 'eve');
    const [given, written] = [join(stack.folder, 'given.json'), join(stack.folder, 'written.json')];
    for (const [place, value] of ['first', 'second'].entries()) {
      await writeFile(given, JSON.stringify(stateOf(value)));
      expect(json(await profile('import', 'shop', given))).toEqual({ name: 'shop', version: place + 1 });
    }
    const shown = { name: 'shop', version: 2, domains: [{ domain, expires_at: null, logged_in: true }] };
    expect(json(await profile('list'))).toMatchObject({ profiles: [shown] });
    expect(json(await profile('show', 'shop'))).toMatchObject({ ...shown, versions: [{ version: 2 }, { version: 1 }] });
    expect(json(await profile('export', 'shop', written))).toEqual({ name: 'shop', file: written });
    expect(JSON.parse(await readFile(written, 'utf8'))).toEqual(stateOf('second'));
    expect((await stat(written)).mode & 0o077).toBe(0);
    expect(json(await profile('restore', 'shop', '1'))).toEqual({ name: 'shop', version: 3 });
    expect(json(await profile('export', 'shop', '-'))).toEqual(stateOf('first'));

    const who = ['--user', 'eve', '--conversation', 'shopping'];
    json(await run('session', 'start', ...who, '--no-video', '--profile', 'shop'));
    expect(json(await profile('save', 'shop'))).toEqual({ name: 'shop', version: expect.any(Number) });
    expect(refusal(await profile('delete', 'shop')).line).toMatch(/^profile_in_use: /);
    json(await run('session', 'close', ...who));
    await eventually('the last save', async () => (await profile('delete', 'shop')).code === 0);
    expect(json(await profile('list'))).toEqual({ profiles: [] });
    expect(refusal(await profile('show', 'shop')).line).toMatch(/^profile_not_found: /);
  });

  it('exits with a code for each kind of failure', async () => {
    const start = (user: string, ...more: string[]) =>
      run('session', 'start', '--user', user, '--no-video', '--wait', '0', ...more);
    const usage = await inShell('session', 'start', '--user', 'ada');
    expect(usage.code).toBe(2);
    expect(usage.stderr).toContain('--conversation');
    expect(refusal(await run('session', 'show')).code).toBe(2);
    expect(refusal(await start('ada', '--conversation', 'x', '--ttl', '1'))).toEqual({
      code: 2,
      line: expect.stringMatching(/^invalid_request: .*ttl_seconds/),
    });
    expect(refusal(await start('nobody', '--conversation', 'x', '--require-credentials'))).toEqual({
      code: 4,
      line: expect.stringMatching(/^credentials_not_configured: /),
    });
    json(await run('session', 'start', '--user', 'max', '--conversation', '1', '--no-video'));
    const second = ['--user', 'max', '--conversation', '2', '--no-video', '--wait', '0'];
    expect(refusal(await inShell('session', 'start', ...second))).toEqual({
      code: 5,
      line: expect.stringMatching(/^user_quota_exceeded: .*1 of 1/),
    });
    json(await run('session', 'close', '--user', 'max', '--conversation', '1'));
    const elsewhere = { OMICRON_CONTROLLER_URL: 'http://127.0.0.1:9', OMICRON_SERVICE_JWT_SECRET: 'x'.repeat(32) };
    expect(refusal(await command(['session', 'list'], { env: elsewhere }))).toEqual({
      code: 5,
      line: expect.stringMatching(/^controller_unreachable: /),
    });
    const wrongSecret = { OMICRON_CONTROLLER_URL: stack.url, OMICRON_SERVICE_JWT_SECRET: 'x'.repeat(32) };
    expect(refusal(await runHere(['session', 'list'], { environment: { ...shell(), ...wrongSecret } })).code).toBe(4);
    const nowhere = await newFolder();
    const list = ['--folder', nowhere, 'session', 'list'];
    expect(refusal(await runHere(list, { environment: shell() })).line).toContain('omicron-browser up');
    await rm(nowhere, { recursive: true });
  });

  it('prints a table for people, without control characters', async () => {
    const tags = ['--tag', 'note=\u001b[2Jx'];
    const refused = await run('session', 'start', '--user', 'tab', '--conversation', 'c', ...tags);
    expect(refused.code).toBe(2);
    json(await run('session', 'start', '--user', 'täb', '--conversation', 'c', '--no-video'));
    const { stdout } = await run('session', 'list', '--user', 'täb', '-o', 'table');
    const [head, row] = stdout.split('\n');
    expect(head).toMatch(/^SESSION +USER +CONVERSATION +STATUS +EPOCH +EXPIRES +REASON$/);
    expect(row?.indexOf('täb')).toBe(head?.indexOf('USER'));
    await run('session', 'close', '--user', 'täb', '--conversation', 'c');
  });

  it('[S9] smoke opens a page, extracts title and text, takes a screenshot and archives; doctor finds no problem', async () => {
    const smoke = await inShell('smoke', `${site.url}/`);
    expect(smoke.code).toBe(0);
    const seen = JSON.parse(smoke.stdout);
    expect(seen).toMatchObject({
      title: 'The Demo Bakery',
      text: expect.stringContaining('Fresh every morning'),
      screenshot: join(stack.folder, 'smoke.png'),
    });
    expect((await readFile(seen.screenshot)).subarray(0, 4)).toEqual(PNG);
    expect(seen.steps.map(({ name }: { name: string }) => name)).toEqual([
      'session.start',
      'session.connect',
      'page.goto',
      'page.extract title',
      'page.extract text',
      'page.screenshot',
      'session.archive',
    ]);
    expect(json(await run('session', 'show', seen.session_id))).toMatchObject({
      status: 'ended',
      archived_at: expect.any(String),
    });

    const dead = await run('smoke', 'http://127.0.0.1:2/');
    expect(dead.code).toBe(1);
    expect(dead.stdout).toBe('');
    expect(dead.stderr).toContain('FAILED: page.goto');
    const refused = await run('smoke', 'http://127.0.0.1/'); // the way out is open for the demo site alone
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('port_refused');
    expect(json(await run('session', 'list', '--status', 'ready', '--user', 'omicron-browser-smoke')).sessions).toEqual(
      [],
    );
    expect((await run('smoke', 'file:///etc/passwd')).code).toBe(2);

    const doctor = json(await inShell('doctor'));
    expect(doctor.ok).toBe(true);
    expect(doctor.checks.map(({ check, ok }: { check: string; ok: boolean }) => [check, ok])).toEqual([
      ['node', true],
      ['browser', true],
      ['ffmpeg', true],
      ['runner', true],
      ['disk', true],
      ['memory', true],
      ['controller', true],
    ]);
    const nowhere = ['credentials', 'set', 'bakery', '--user', 'zoe', '--username', 'zoe@example.com'];
    json(await runHere(['--folder', stack.folder, ...nowhere], { environment: shell(), input: 'secret\n' }));
    const sick = await command(['--folder', stack.folder, 'doctor', '--user', 'zoe'], {
      env: { OMICRON_CHROMIUM: '/no/such/chromium' },
    });
    expect(sick.code).toBe(1);
    const problems = JSON.parse(sick.stdout).checks.filter(({ ok }: { ok: boolean }) => !ok);
    expect(problems.map(({ check }: { check: string }) => check)).toEqual(['browser', 'runner', 'credentials']);
    expect(problems[2].detail).toContain('omicron-browser credentials set bakery --url DOMAIN');
    expect(problems[1].detail).toContain('/no/such/chromium');
  });

  it('refuses a second stack in the folder, and leaves nothing of the first one running on Ctrl-C', async () => {
    const second = await inShell('up');
    expect(refusal(second)).toEqual({ code: 4, line: expect.stringContaining(`${stack.url} (process ${stack.pid})`) });
    json(await run('session', 'start', '--user', 'ada', '--conversation', 'last', '--no-video'));
    const processes = (await runnerPids(stack.folder)).flatMap(processTree).map(processId);
    expect(processes.length).toBeGreaterThan(3);
    expect(await stack.end('SIGINT')).toBe(0);
    expect(stack.said()).toContain('nothing is left running');
    expect(processes.filter(isRunning)).toEqual([]);
    expect(await runnerPids(stack.folder)).toEqual([]);
  });

  it('up takes policy presets for its sessions, says so, and has none when it is started without them', async () => {
    const [folder, databaseUrl] = [await newFolder(), await migratedDatabaseUrl()];
    const act = async (args: string[], conversation: string) => {
      const own = await up(folder, { [ENV.databaseUrl]: databaseUrl }, { args: ['--pool', '0', ...args] });
      const call = async (...line: string[]) =>
        json(await runHere(['--folder', folder, ...line], { environment: shell() }));
      const names = ['--user', 'ada', '--conversation', conversation, '--no-video'];
      const { session_id: id } = await call('session', 'start', ...names);
      const verdicts = ['http://example.com/', 'https://example.com/'].map(async url => {
        const { action } = await call('policy', 'test', 'browser_navigate', JSON.stringify({ url }), '--session', id);
        return action;
      });
      const found = await Promise.all(verdicts);
      expect(await own.end('SIGINT')).toBe(0);
      return { found, said: own.said(), own };
    };
    const taken = await act(['--policy-presets', 'ssrf,https-only'], 'with');
    expect(taken.said).toContain('Its sessions have the policy presets ssrf, https-only');
    expect(taken.found).toEqual(['block', 'allow']);
    const without = await act([], 'without');
    expect(without.said).toContain('Presets to take');
    expect(without.found).toEqual(['allow', 'allow']);
    await without.own.dispose();
  });

  it('smoke starts a stack of its own when none runs, and stops it', async () => {
    const args = ['--folder', stack.folder, 'smoke', site.url, '--screenshot', join(stack.folder, 'own', 'page.png')];
    const smoke = await command(args, { env: { OMICRON_EGRESS: 'off' } }); // a site of this machine
    expect(smoke.code).toBe(0);
    expect(smoke.stderr).toContain('stack.stop');
    expect((await readFile(join(stack.folder, 'own', 'page.png'))).subarray(0, 4)).toEqual(PNG);
    expect(await runnerPids(stack.folder)).toEqual([]);
    expect(refusal(await run('session', 'list')).line).toContain('not_configured');
  });

  it('does not mistake the stack.json of a dead stack for a running one', async () => {
    const folder = await newFolder();
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'keys.json'), await readFile(join(stack.folder, 'keys.json')));
    await writeFile(
      join(folder, 'stack.json'),
      JSON.stringify({ url: stack.url, consoleUrl: stack.url, pid: stack.pid }),
    );
    const list = ['--folder', folder, 'session', 'list'];
    expect(refusal(await runHere(list, { environment: shell() })).line).toContain('not_configured');
    await rm(folder, { recursive: true });
  });
});
