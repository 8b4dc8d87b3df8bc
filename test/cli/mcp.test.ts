import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, type ClientCapabilities, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { APP_TOOLS, SHOW_TOOL } from '../../contract/app-names.ts';
import { APP_URI, SHOWS_APPS } from '../../contract/mcp-app.ts';
import { ENV } from '../../contract/names.ts';
import { CODE_META } from '../../contract/tool-failure.ts';
import { isRunning, processId } from '../../controller/runners/local/process.ts';
import { type DemoSite, startDemoSite } from '../../local/demo-site.ts';
import { freePort } from '../../local/free-port.ts';
import { StackFolder } from '../../local/stack-folder.ts';
import { eventually } from '../eventually.ts';
import { newFolder, processTree, ROOT, shell, type Up, up } from '../local/machine.ts';
import { migratedDatabaseUrl } from '../postgres.ts';

const BIN = `${ROOT}cli/bin.js`;
const textOf = (result: unknown) => JSON.stringify((result as { content: unknown }).content); // of every tool result

interface Desktop extends AsyncDisposable {
  readonly client: Client;
  readonly said: () => string;
}

/** A desktop client: it starts the command and speaks to it over its standard streams. */
async function desktop(
  folder: string,
  args: string[] = [],
  mode: 'legacy' | 'auto' = 'auto',
  capabilities: ClientCapabilities = {},
): Promise<Desktop> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, '--folder', folder, 'mcp', '--no-video', ...args],
    env: shell(),
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', chunk => {
    said += String(chunk);
  });
  const client = new Client({ name: 'desktop', version: '1' }, { capabilities, versionNegotiation: { mode } });
  const wrong: string[] = [];
  client.onerror = error => wrong.push(error.message);
  await client.connect(transport);
  return {
    client,
    said: () => said,
    async [Symbol.asyncDispose]() {
      await client.close();
      expect(wrong.filter(message => /JSON|parse/i.test(message))).toEqual([]); // all that it wrote was MCP
    },
  };
}

const SEVEN = [
  ...['browser_navigate', 'browser_screenshot', 'browser_click', 'browser_type', 'browser_get_content'],
  ...['browser_scroll', 'browser_fill_and_submit'],
];

/** supergateway, which many platforms put in front of servers like this one: it starts the command and speaks HTTP to its own clients. */
async function startGateway(folder: string, args: readonly string[]) {
  const port = await freePort();
  const command = [process.execPath, BIN, '--folder', folder, 'mcp', '--no-video', ...args].join(' ');
  const child = spawn(
    process.execPath,
    [
      ...[join(ROOT, 'node_modules/supergateway/dist/index.js'), '--stdio', command, '--port', String(port)],
      ...['--outputTransport', 'streamableHttp', '--stateful', '--healthEndpoint', '/health', '--logLevel', 'none'],
    ],
    { env: shell(), stdio: 'ignore' },
  );
  const exited = once(child, 'exit');
  onTestFinished(() => void child.kill('SIGTERM'));
  const origin = `http://127.0.0.1:${port}`;
  await eventually('the gateway', () =>
    fetch(`${origin}/health`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    url: `${origin}/mcp`,
    pid: child.pid ?? 0,
    async remove() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

describe('omicron-browser mcp', { timeout: 120_000 }, () => {
  let stack: Up;
  let site: DemoSite;
  let sessions: BrowserSessions;
  beforeAll(async () => {
    site = await startDemoSite();
    const { hostname, port } = new URL(site.url);
    stack = await up(await newFolder(), {
      OMICRON_EGRESS_ALLOWED_CIDRS: `${hostname}/32`,
      [ENV.databaseUrl]: await migratedDatabaseUrl(),
    });
    const running = await new StackFolder(stack.folder).running();
    if (running === null) throw new Error('the stack does not run');
    sessions = new BrowserSessions(running);
    await sessions.putPolicy({}, { version: 1, sites: { ports: [Number(port)] } });
  }, 120_000);
  afterAll(async () => {
    await stack?.dispose();
    await site?.close();
  });

  const runnersOf = async (conversationId: string) =>
    (await sessions.list({ userId: 'desktop', conversationId })).sessions.map(({ runner_id }) => runner_id ?? '');
  const statuses = async (conversationId: string) =>
    (await sessions.list({ userId: 'desktop', conversationId })).sessions.map(({ status, epoch }) => [status, epoch]);

  it.each(['legacy', 'auto'] as const)(
    '[M8] lists without a lease, leases at the first call, and releases when its client closes (%s)',
    async mode => {
      const name = `of-${mode}`;
      {
        await using server = await desktop(stack.folder, ['--conversation', name], mode);
        expect(server.client.getNegotiatedProtocolVersion()).toBe(mode === 'auto' ? '2026-07-28' : '2025-11-25');
        expect((await server.client.listTools()).tools.map(tool => tool.name)).toContain('browser_navigate');
        expect(await statuses(name)).toEqual([]);
        const [opened, listed] = await Promise.all([
          server.client.callTool({ name: 'browser_navigate', arguments: { url: `${site.url}/login` } }),
          server.client.callTool({ name: 'browser_tabs', arguments: { action: 'list' } }),
        ]);
        expect(textOf(opened)).toContain('Password');
        expect(listed.isError).toBeFalsy();
        expect(await statuses(name)).toEqual([['ready', 1]]);
      }
      await eventually('the lease to end', async () => (await statuses(name))[0]?.[0] === 'ended');
    },
  );

  it.each(['legacy', 'auto'] as const)(
    'shows apps: the page of one calls the leased browser, and leases none (%s)',
    async mode => {
      await using server = await desktop(stack.folder, ['--conversation', `app-${mode}`], mode, SHOWS_APPS);
      const { client } = server;
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain(SHOW_TOOL);
      const { contents } = await client.readResource({ uri: APP_URI });
      expect(contents).toMatchObject([{ text: expect.stringContaining('<!doctype html>') }]);
      const ofPage = () => client.callTool({ name: APP_TOOLS.exchange, arguments: { wait_ms: 0 } });
      expect(textOf(await ofPage())).toContain('lease_ended');
      expect(await statuses(`app-${mode}`)).toEqual([]);
      await client.callTool({ name: SHOW_TOOL, arguments: {} });
      expect((await ofPage()).structuredContent).toMatchObject({ viewer: expect.any(String), closed: null });
    },
  );

  it('[P5] works through an MCP gateway of its users, whose removal leaves nothing', async () => {
    const noScrolling = { tools: ['browser_scroll'], when: [], action: 'block_always' } as const;
    await sessions.putPolicy({ userId: 'desktop' }, { version: 1, tools: [noScrolling] });
    onTestFinished(() => sessions.deletePolicy({ userId: 'desktop' }));
    // An offer of the installation that its operator takes.
    const offers = ['--policy-presets', 'chain-allowlist'];
    const gateway = await startGateway(stack.folder, ['--conversation', 'installed', '--toolset', 'compat', ...offers]);
    const client = new Client({ name: 'platform', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(gateway.url)));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(SEVEN));
    const sessionId = 'browser-a1b2c3d4-1701234567890';
    const call = (name: string, args: Record<string, unknown>) =>
      client.callTool({ name, arguments: { sessionId, ...args } });
    expect(textOf(await call('browser_navigate', { url: site.url }))).toContain('The Demo Bakery');
    const [first] = (await call('browser_screenshot', { imageText: true })).content;
    const { image } = JSON.parse(first?.type === 'text' ? first.text : '');
    expect(Buffer.from(image, 'base64').subarray(1, 4).toString()).toBe('PNG');
    expect(textOf(await call('browser_get_content', { format: 'accessibility' }))).toContain('Fresh every morning');
    // The policy, and the way out, hold behind the gateway too.
    expect(textOf(await call('browser_scroll', { direction: 'down' }))).toContain('policy_blocked');
    const refused = await call('browser_navigate', { url: 'http://169.254.169.254/' });
    expect(refused).toMatchObject({ isError: true, _meta: { [CODE_META]: 'port_refused' } });
    const odd = { sessionId: 'no session', url: site.url };
    await client.callTool({ name: 'browser_navigate', arguments: odd });
    expect(textOf(await client.callTool({ name: 'browser_navigate', arguments: odd }))).toContain('policy_blocked');
    const [runnerId = ''] = await runnersOf('installed');
    const installed = processTree(gateway.pid).map(processId);
    expect(installed.length).toBeGreaterThan(1);

    await client.close();
    await gateway.remove();
    await eventually('the lease to end', async () => (await statuses('installed'))[0]?.[0] === 'ended');
    await eventually('its processes to end', () => !installed.some(isRunning));
    await eventually(
      'the runner to be gone',
      async () => !(await readdir(join(stack.folder, 'runners'))).includes(runnerId),
    );
    // Its presets have left with it.
    await using plain = await desktop(stack.folder, ['--conversation', 'afterwards', '--toolset', 'compat']);
    for (let n = 0; n < 2; n++)
      expect(textOf(await plain.client.callTool({ name: 'browser_navigate', arguments: odd }))).not.toContain(
        'policy_blocked',
      );
  });

  it('leases again after its lease was ended, and names the conversation’s browser by its option', async () => {
    await using server = await desktop(stack.folder, ['--conversation', 'again', '--toolset', 'compat']);
    const open = () => server.client.callTool({ name: 'browser_open', arguments: { url: site.url } });
    expect(textOf(await open())).toContain('opened');
    const [session] = (await sessions.list({ userId: 'desktop', conversationId: 'again' })).sessions;
    await sessions.end(session?.session_id ?? '');
    // A call that the runner still took is interrupted by the end, and says so.
    await eventually('a page of another lease', async () => textOf(await open()).includes('opened'));
    expect(await statuses('again')).toEqual([['ready', 2]]);
  });

  it('gives each sessionId of its client a browser of its own, and ends them all', async () => {
    const args = ['--conversation', 'many', '--toolset', 'compat', '--image-text'];
    {
      await using server = await desktop(stack.folder, args);
      const call = (name: string, more: object) =>
        server.client.callTool({ name, arguments: { ...more } }).then(result => textOf(result));
      expect(await call('browser_open', { url: site.url, sessionId: 'left' })).toContain('opened');
      expect(await call('browser_open', { url: `${site.url}/login`, sessionId: 'right' })).toContain('opened');
      const [left] = (await sessions.list({ userId: 'desktop', conversationId: 'many' })).sessions;
      // by the name that it gave, and by the id that results have
      for (const sessionId of ['left', left?.session_id])
        expect(await call('browser_get_content', { sessionId, format: 'text' })).toContain('Fresh every morning');
      expect(await call('browser_get_content', { sessionId: 'right', format: 'text' })).not.toContain('Fresh every');
      expect(await call('browser_screenshot', { sessionId: 'left' })).toContain('image\\":');
      expect(await call('browser_screenshot', { sessionId: 7 })).toContain('invalid_arguments');
      expect([await statuses('many'), await statuses('many:right')]).toEqual([[['ready', 1]], [['ready', 1]]]);
    }
    await eventually('both to end', async () => {
      const both = [...(await statuses('many')), ...(await statuses('many:right'))];
      return both.every(([status]) => status === 'ended');
    });
  });

  it('releases its browser and ends when its client reads no more, with its input still open', async () => {
    const args = [BIN, '--folder', stack.folder, 'mcp', '--no-video', '--conversation', 'half-open'];
    const server = spawn(process.execPath, args, { env: shell() });
    onTestFinished(() => void server.kill('SIGKILL'));
    const exited = once(server, 'exit');
    const call = (id: number) =>
      server.stdin.write(
        `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'browser_snapshot' } })}\n`,
      );
    call(1);
    await once(server.stdout, 'data');
    expect(await statuses('half-open')).toEqual([['ready', 1]]);
    server.stdout.destroy();
    call(2);
    expect(await exited).toEqual([0, null]);
    expect(await statuses('half-open')).toEqual([['ended', 1]]);
  });

  it('says how to start the stack where none runs: on standard error, and to the agent', async () => {
    await using server = await desktop(await newFolder());
    expect((await server.client.listTools()).tools.length).toBeGreaterThan(10);
    const result = await server.client.callTool({ name: 'browser_snapshot', arguments: {} });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('start one with');
    expect(server.said()).toMatch(/^not_configured: No stack runs in .*omicron-browser up/);
  });
});
