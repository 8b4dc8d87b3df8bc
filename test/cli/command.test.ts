import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isRunning, processId } from '../../controller/runners/local/process.ts';
import type { DemoSite } from '../../local/demo-site.ts';
import { command, newFolder, processTree, runnerPids, shell, type Up } from '../local/machine.ts';
import { type CommandStack, commandOutput, commandRefusal, startCommandStack } from './command-stack.ts';
import { runHere } from './run-here.ts';

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47]);
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

// Each group of commands runs as a process once, and so does what only a process has; the others run here. More commands:
// command-groups.test.ts; stacks that commands start: own-stack.test.ts.
describe('omicron-browser', { timeout: 180_000 }, () => {
  let on: CommandStack;
  let stack: Up;
  let site: DemoSite;
  beforeAll(async () => {
    on = await startCommandStack();
    ({ stack, site } = on);
  });
  afterAll(() => on?.[Symbol.asyncDispose]());

  it('[S1] starts, lists, shows, closes and archives sessions, named by id or by user and conversation', async () => {
    const names = ['--user', 'ada', '--conversation', 'chat-1'];
    const started = commandOutput(
      await on.inShell('session', 'start', ...names, '--no-video', '--tag', 'team=search', '--toolset', 'both'),
    );
    expect(started).toMatchObject({ epoch: 1, mcp_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/) });
    const id = started.session_id;

    const listed = commandOutput(
      await on.run('session', 'list', '--user', 'ada', '--status', 'ready', '--tag', 'team=search'),
    );
    expect(listed.sessions.map((each: { session_id: string }) => each.session_id)).toEqual([id]);
    expect(commandOutput(await on.run('session', 'list', '--tag', 'team=other')).sessions).toEqual([]);

    expect(commandOutput(await on.run('session', 'show', id))).toMatchObject({
      session_id: id,
      status: 'ready',
      artifacts: [],
    });
    const shown = commandOutput(await on.inShell('session', 'show', ...names, '--events'));
    expect(shown.session_id).toBe(id);
    expect(shown.events.map((event: { kind: string }) => event.kind)).toContain('session.ready');
    expect(commandOutput(await on.run('session', 'show', id, '--code', 'policy_blocked')).events).toEqual([]);

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
      const { code, line } = commandRefusal(await on.run('session', ...wrong));
      expect(code).toBe(3);
      expect(line).toMatch(/^session_not_found: /);
    }
    expect(commandOutput(await on.run('session', 'show', id)).status).toBe('ready');

    expect(commandOutput(await on.inShell('session', 'close', ...names))).toMatchObject({
      status: 'ended',
      ended_reason: 'released',
    });
    expect(commandOutput(await on.run('session', 'close', id)).status).toBe('ended');
    expect(commandOutput(await on.run('session', 'archive', id)).archived_at).not.toBeNull();
    expect(commandOutput(await on.run('session', 'list', '--user', 'ada')).sessions).toEqual([]);
    expect(commandOutput(await on.run('session', 'list', '--user', 'ada', '--archived')).sessions).toHaveLength(1);
  });

  it('[S2] acts on the page of a live session, by id or by name, and prints one form of result', async () => {
    const names = ['--user', 'pat', '--conversation', 'page'];
    const none = commandRefusal(await on.run('page', 'goto', site.url, ...names));
    expect(none).toEqual({ code: 3, line: expect.stringMatching(/^session_not_found: /) });
    const started = commandOutput(await on.run('session', 'start', ...names, '--no-video', '--toolset', 'both'));
    const by = ['--session', started.session_id];
    expect(commandOutput(await on.inShell('page', 'goto', `${site.url}/`, ...by))).toMatchObject({
      success: true,
      title: 'The Demo Bakery',
    });
    expect(commandOutput(await on.run('page', 'extract', ...names)).content).toContain('Fresh every morning');
    expect(commandOutput(await on.run('page', 'extract', '--mode', 'title', ...by))).toEqual({
      ...{ success: true, title: 'The Demo Bakery', url: `${site.url}/` },
    });
    commandOutput(await on.run('page', 'goto', `${site.url}/login`, ...by));
    expect(commandOutput(await on.run('page', 'wait-for', 'form input', ...by)).success).toBe(true);
    expect(commandOutput(await on.run('page', 'type', 'input[type=password]', 'typed', ...by)).success).toBe(true);
    expect(commandOutput(await on.run('page', 'click', 'input[type=password]', ...by)).success).toBe(true);
    const file = join(stack.folder, 'pages', 'page.png');
    expect(commandOutput(await on.run('page', 'screenshot', file, ...by))).toMatchObject({ success: true, file });
    expect((await readFile(file)).subarray(0, 4)).toEqual(PNG);
    const failed = await on.run('page', 'click', '#no-such-element', ...by);
    expect([failed.code, JSON.parse(failed.stdout)]).toEqual([1, expect.objectContaining({ success: false })]);
    expect(commandOutput(await on.run('session', 'show', started.session_id)).epoch).toBe(1);
    commandOutput(await on.run('session', 'close', ...names));
    const over = commandRefusal(await on.inShell('page', 'extract', ...by));
    expect(over).toEqual({ code: 4, line: expect.stringMatching(/^lease_ended: /) });
  });

  it('prints a link that opens the console, once', async () => {
    const { link } = commandOutput(await on.inShell('console'));
    const { origin, hash } = new URL(link);
    const headers = { origin, 'content-type': 'application/json' };
    const signIn = () =>
      fetch(`${origin}/api/sign-in`, { method: 'POST', headers, body: JSON.stringify({ token: hash.slice(1) }) });
    expect((await signIn()).status).toBe(204);
    expect((await signIn()).status).toBe(401);
    expect(await readFile(join(stack.folder, 'controller.log'), 'utf8')).not.toContain(hash.slice(1));
    expect((await fetch(`${origin}/api/links`, { method: 'POST' })).status).toBe(401);
  });

  it('reads a password from a pipe or the environment, never from its arguments, and never shows it', async () => {
    const password = 'correct horse "battery" stäple';
    const set = ['--folder', stack.folder, 'credentials', 'set'];
    const who = ['--user', 'ada', '--username', 'ada@example.com'];
    const piped = await command([...set, 'shop', ...who], { input: `${password}\n` });
    expect(commandOutput(piped)).toEqual({ site: 'shop', secret_names: ['SHOP_USERNAME', 'SHOP_PASSWORD'] });
    const environment = { ...shell(), BANK_PW: password };
    commandOutput(await runHere([...set, 'bank', ...who, '--password-env', 'BANK_PW'], { environment }));
    expect(commandOutput(await on.run('credentials', 'list', '--user', 'ada')).sites).toMatchObject([
      { site: 'bank', secret_names: ['BANK_USERNAME', 'BANK_PASSWORD'] },
      { site: 'shop', secret_names: ['SHOP_USERNAME', 'SHOP_PASSWORD'] },
    ]);
    expect((await on.run('--output', 'table', 'credentials', 'list', '--user', 'ada')).stdout).toContain(
      'nowhere: nothing says where "shop" may be used: store it again with its site',
    );
    for (const file of ['controller.log', 'secrets.jwe'])
      expect(await readFile(join(stack.folder, file), 'utf8')).not.toContain('battery');
    expect(piped.stdout + stack.said()).not.toContain('battery');

    const seed = 'JBSWY3DPEHPK3PXP';
    const both = await command([...set, 'mail', ...who, '--totp'], { input: `${password}\n${seed}\n` });
    expect(commandOutput(both)).toMatchObject({ site: 'mail', totp: true });
    expect(both.stdout).not.toContain(seed);
    commandOutput(await on.run('credentials', 'delete', 'mail', '--user', 'ada'));
    const setHere = (site: string, more: string[], input = '') =>
      runHere([...set, site, ...who, ...more], { environment: shell(), input });
    expect(commandRefusal(await setHere('mail', ['--totp'], `${password}\n`)).line).toContain('TOTP');
    expect(commandRefusal(await setHere('shop', [])).code).toBe(2);
    expect(commandRefusal(await setHere('shop', ['--password-env', 'NOT_SET'])).line).toContain('NOT_SET');
    commandOutput(await on.run('credentials', 'delete', 'shop', '--user', 'ada'));
    commandOutput(await on.run('secrets', 'delete', 'shop', '--user', 'ada')); // its old name; nothing is left to delete
    expect(commandOutput(await on.run('credentials', 'list', '--user', 'ada')).sites).toHaveLength(1);
  });

  it('exits with a code for each kind of failure', async () => {
    const start = (user: string, ...more: string[]) =>
      on.run('session', 'start', '--user', user, '--no-video', '--wait', '0', ...more);
    const usage = await on.inShell('session', 'start', '--user', 'ada');
    expect(usage.code).toBe(2);
    expect(usage.stderr).toContain('--conversation');
    expect(commandRefusal(await on.run('session', 'show')).code).toBe(2);
    expect(commandRefusal(await start('ada', '--conversation', 'x', '--ttl', '1'))).toEqual({
      code: 2,
      line: expect.stringMatching(/^invalid_request: .*ttl_seconds/),
    });
    expect(commandRefusal(await start('nobody', '--conversation', 'x', '--require-credentials'))).toEqual({
      code: 4,
      line: expect.stringMatching(/^credentials_not_configured: /),
    });
    commandOutput(await on.run('session', 'start', '--user', 'max', '--conversation', '1', '--no-video'));
    const second = ['--user', 'max', '--conversation', '2', '--no-video', '--wait', '0'];
    expect(commandRefusal(await on.inShell('session', 'start', ...second))).toEqual({
      code: 5,
      line: expect.stringMatching(/^user_quota_exceeded: .*1 of 1/),
    });
    commandOutput(await on.run('session', 'close', '--user', 'max', '--conversation', '1'));
    const elsewhere = { OMICRON_CONTROLLER_URL: 'http://127.0.0.1:9', OMICRON_SERVICE_JWT_SECRET: 'x'.repeat(32) };
    expect(commandRefusal(await command(['session', 'list'], { env: elsewhere }))).toEqual({
      code: 5,
      line: expect.stringMatching(/^controller_unreachable: /),
    });
    const wrongSecret = { OMICRON_CONTROLLER_URL: stack.url, OMICRON_SERVICE_JWT_SECRET: 'x'.repeat(32) };
    expect(
      commandRefusal(await runHere(['session', 'list'], { environment: { ...shell(), ...wrongSecret } })).code,
    ).toBe(4);
    const nowhere = await newFolder();
    const list = ['--folder', nowhere, 'session', 'list'];
    expect(commandRefusal(await runHere(list, { environment: shell() })).line).toContain('omicron-browser up');
    await rm(nowhere, { recursive: true });
  });

  it('[S9] smoke opens a page, extracts title and text, takes a screenshot and archives; doctor finds no problem', async () => {
    const smoke = await on.inShell('smoke', `${site.url}/`);
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
    expect(commandOutput(await on.run('session', 'show', seen.session_id))).toMatchObject({
      status: 'ended',
      archived_at: expect.any(String),
    });

    const doctor = commandOutput(await on.inShell('doctor'));
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
  });

  it('refuses a second stack in the folder, and leaves nothing of the first one running on Ctrl-C', async () => {
    const second = await on.inShell('up');
    expect(commandRefusal(second)).toEqual({
      code: 4,
      line: expect.stringContaining(`${stack.url} (process ${stack.pid})`),
    });
    commandOutput(await on.run('session', 'start', '--user', 'ada', '--conversation', 'last', '--no-video'));
    const processes = (await runnerPids(stack.folder)).flatMap(processTree).map(processId);
    expect(processes.length).toBeGreaterThan(3);
    expect(await stack.end('SIGINT')).toBe(0);
    expect(stack.said()).toContain('nothing is left running');
    expect(processes.filter(isRunning)).toEqual([]);
    expect(await runnerPids(stack.folder)).toEqual([]);
  });
});
