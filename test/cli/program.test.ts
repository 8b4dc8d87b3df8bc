import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { json } from '../fakes/controller/answer.ts';
import { ended, ready, SESSION_ID } from '../fakes/controller/clients.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { runHere } from './run-here.ts';

let controller: FakeController;
beforeAll(async () => {
  controller = await startFakeController();
});
afterAll(() => controller.close());
beforeEach(() => {
  controller.seen.length = 0;
});

const run = (line: string, { isTTY = false } = {}) =>
  runHere(line.split(' '), {
    environment: { OMICRON_CONTROLLER_URL: controller.url, OMICRON_SERVICE_JWT_SECRET: controller.serviceSecret },
    input: 'secret\n',
    isTTY,
  });

it.each([
  ['session list -o xml', 'json, table'],
  ['session list --status gone', 'starting, ready, hibernated, ended, error'],
  ['session list --limit few', '--limit'],
  ['session list --tag team', '--tag'],
  ['session start --user u --conversation c --toolset all', 'playwright, core, compat, both'],
  ['session start --user u --conversation c --ttl soon', '--ttl'],
  ['session start --user u', '--conversation'],
  ['session start --user u --conversation c --viewport wide', '1280x720'],
  ['session start --user u --conversation c --geolocation Bern', 'LATITUDE,LONGITUDE'],
  ['session start --user u --conversation c --permissions camera', 'clipboard-read'],
  ['session answer s a maybe', 'done, declined, always'],
  ['session show --user u', '--conversation'],
  ['policy show --user u --session s', '--session'],
  ['policy show --effective', '--session'],
  ['up --port high', '--port'],
  ['up --policy-presets ssfr', 'chain-allowlist, ssrf, https-only'],
  ['file put /no/such/file s', '/no/such/file cannot be read'],
  ['file put /usr s', 'it is not a file'],
  ['brew', "unknown command 'brew'"],
])('refuses a wrong command line in one line, before it calls a controller: %s', async (line, said) => {
  expect(await run(line)).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(/^.+\n$/) });
  expect((await run(line)).stderr).toContain(said);
  expect(controller.seen).toEqual([]);
});

it('starts a session with what its options say', async () => {
  controller.answerNext(ready());
  const options =
    '--ttl 60 --wait 600 --policy-presets ssrf,https-only --toolset compat --snapshot none --no-video --tag a=1 --tag b=2=3 --require-credentials';
  const { code, stdout } = await run(`session start --user u --conversation c ${options}`);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ session_id: SESSION_ID, mcp_url: 'http://127.0.0.1:1/mcp' });
  expect(controller.seen[0]?.body).toEqual({
    user_id: 'u',
    conversation_id: 'c',
    ttl_seconds: 60,
    wait_seconds: 2, // then the caller is shown its place in the line, and asks on
    policy_presets: ['ssrf', 'https-only'],
    toolset: 'compat',
    snapshot: 'none',
    record_video: false,
    tags: { a: '1', b: '2=3' },
    credentials: true,
    require_credentials: true,
  });
});

it('starts a session with options that its pages see', async () => {
  controller.answerNext(ready());
  const line = 'session start --user u --conversation c --viewport 800x600 --locale de-CH --timezone Europe/Zurich';
  const rest =
    '--keep-files a.pdf b.pdf --color-scheme dark --geolocation -33.5,151.2,20 --permissions geolocation notifications';
  expect((await run(`${line} ${rest} --user-agent-suffix Example/1`)).code).toBe(0);
  expect(controller.seen[0]?.body).toMatchObject({
    keep_files: ['a.pdf', 'b.pdf'],
    viewport: { width: 800, height: 600 },
    locale: 'de-CH',
    timezone: 'Europe/Zurich',
    color_scheme: 'dark',
    geolocation: { latitude: -33.5, longitude: 151.2, accuracy: 20 },
    user_agent_suffix: 'Example/1',
    permissions: ['geolocation', 'notifications'],
  });
});

it.each([
  ['done', { status: 'done' }],
  ['always', { status: 'done', always: true }],
  ['declined', { status: 'declined' }],
])('answers a user action: %s', async (answer, body) => {
  const at = '2026-01-01T00:00:00.000Z';
  const times = { created_at: at, expires_at: at, answered_at: at };
  const asked = { id: SESSION_ID, session_id: SESSION_ID, epoch: 1, reason: 'May I?', credential: null, note: null };
  controller.answerNext(json(200, { ...asked, ...times, status: body.status }));
  expect((await run(`session answer ${SESSION_ID} ${SESSION_ID} ${answer}`)).code).toBe(0);
  expect(controller.seen[0]?.body).toEqual(body);
});

it.each(['credentials', 'secrets'])('stores a credential from a pipe: %s set', async name => {
  controller.answerNext({ status: 204 });
  const { code, stdout } = await run(`${name} set shop --user u --username ada`);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ site: 'shop', secret_names: ['SHOP_USERNAME', 'SHOP_PASSWORD'] });
  expect(controller.seen[0]).toMatchObject({ method: 'PUT', body: { username: 'ada', password: 'secret' } });
});

it('lists commands without the old name of credentials', async () => {
  const { code, stdout } = await run('--help');
  expect(code).toBe(0);
  expect(stdout).toContain('credentials');
  expect(stdout).not.toContain('secrets');
});

it('lists who answered user actions, and answers one in the name of a person', async () => {
  const at = '2026-01-01T00:00:00.000Z';
  const action = {
    ...{ id: SESSION_ID, session_id: SESSION_ID, epoch: 1, reason: 'A code', status: 'done', note: null },
    ...{ created_at: at, expires_at: at, answered_at: at, answered_by: { viewer: 'Bob', identity: 'name Bob' } },
    credential: null,
  };
  controller.answerNext(ended(), json(200, { user_actions: [action] }), json(200, action));
  const { stdout, stderr } = await run(`session actions ${SESSION_ID}`, { isTTY: true });
  expect(stderr).toBe('');
  expect(stdout).toMatch(/ANSWERED BY +REASON\n.* Bob +A code\n$/);
  expect((await run(`session answer ${SESSION_ID} ${SESSION_ID} done --viewer Bob`)).code).toBe(0);
  expect(controller.seen.at(-1)?.body).toEqual({ status: 'done', viewer: 'Bob' });
});

it('prints a table on a terminal', async () => {
  controller.answerNext(ended(), json(200, { artifacts: [] }));
  const { stdout } = await run(`session show ${SESSION_ID}`, { isTTY: true });
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([`session_id        ${SESSION_ID}`, 'tags              {}', 'error             -']),
  );
});

it('refuses a misspelt variable of the controller before it looks for a local stack', async () => {
  const environment = { OMICRON_CONTROLER_URL: controller.url, OMICRON_API_KEY: "an application's own" };
  const { code, stderr } = await runHere(['session', 'list'], { environment });
  expect(code).toBe(4);
  expect(stderr).toContain('OMICRON_CONTROLER_URL is no setting; did you mean OMICRON_CONTROLLER_URL?');
});

it.each([
  ['OMICRON_CHROMIUM', '/no/such/chromium'],
  ['OMICRON_FFMPEG', '/no/such/ffmpeg'],
])('does not start a stack whose %s is no program', async (name, path) => {
  const folder = await mkdtemp(join(tmpdir(), 'omicron-up-'));
  const environment = { PATH: process.env.PATH ?? '', [name]: path };
  const { code, stderr } = await runHere(['--folder', folder, 'up'], { environment });
  expect(code).toBe(4);
  expect(stderr).toContain(`${name} names ${path}, which is not an executable file.`);
  await rm(folder, { recursive: true });
});

it('smoke says that a browser cannot be reached from here, and archives its session', async () => {
  controller.answerNext(ready(), ended());
  const { code, stderr } = await run('smoke https://example.com');
  expect(code).not.toBe(0);
  expect(stderr).toContain('browser_unreachable: The browser at 127.0.0.1:1 does not answer');
  expect(controller.seen.map(({ path }) => path)).toEqual([
    '/internal/browser-sessions/get-or-create',
    `/internal/browser-sessions/${SESSION_ID}/archive`,
  ]);
});
