import { Client, type ClientCapabilities } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { APP_TOOLS, SHOW_TOOL } from '../../contract/app-names.ts';
import { APP_URI, SHOWS_APPS } from '../../contract/mcp-app.ts';
import { type DemoSite, startDemoSite } from '../../local/demo-site.ts';
import { StackFolder } from '../../local/stack-folder.ts';
import { eventually } from '../eventually.ts';
import { newFolder, ROOT, shell, type Up, up } from '../local/machine.ts';

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

describe('omicron-browser mcp', { timeout: 120_000 }, () => {
  let stack: Up;
  let site: DemoSite;
  let sessions: BrowserSessions;
  beforeAll(async () => {
    site = await startDemoSite();
    const { hostname, port } = new URL(site.url);
    stack = await up(await newFolder(), { OMICRON_EGRESS_ALLOWED_CIDRS: `${hostname}/32` });
    const running = await new StackFolder(stack.folder).running();
    if (running === null) throw new Error('the stack does not run');
    sessions = new BrowserSessions(running);
    await sessions.putPolicy({}, { version: 1, sites: { ports: [Number(port)] } });
  }, 120_000);
  afterAll(async () => {
    await stack?.dispose();
    await site?.close();
  });

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

  it('leases again after its lease was ended, and names the conversation’s browser by its option', async () => {
    await using server = await desktop(stack.folder, ['--conversation', 'again', '--toolset', 'compat']);
    const open = () => server.client.callTool({ name: 'browser_open', arguments: { url: site.url } });
    expect(textOf(await open())).toContain('opened');
    const [session] = (await sessions.list({ userId: 'desktop', conversationId: 'again' })).sessions;
    await sessions.end(session?.session_id ?? '');
    expect(textOf(await open())).toContain('opened');
    expect(await statuses('again')).toEqual([['ready', 2]]);
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
