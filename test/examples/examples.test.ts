import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { type DemoSite, startDemoSite } from '../../local/demo-site.ts';
import { type Stack, startStack } from '../../local/stack.ts';
import { pythonOf } from '../../local/test-tools.ts';
import { eventually } from '../eventually.ts';
import { newFolder, ROOT, run, shell } from '../local/machine.ts';
import { freePort } from '../port.ts';
import type { AnyClient } from '../runner/any-client.ts';
import { v2 } from '../runner/mcp-clients.ts';
import { type ScriptedModel, scriptedModel } from './scripted-model.ts';

const MCP_1 = pythonOf(ROOT, 'python_mcp_1');
const MCP_2 = pythonOf(ROOT, 'python_mcp_2');
const example = (...path: string[]) => join(ROOT, 'examples', ...path);

/** Frameworks start slowly: Python imports them anew for each turn. */
describe('the examples, each as it is, with a scripted model', { timeout: 90_000 }, () => {
  let folder: string;
  let site: DemoSite;
  let stack: Stack;
  let sessions: BrowserSessions;
  let model: ScriptedModel;
  let env: Record<string, string>;
  beforeAll(async () => {
    folder = await newFolder();
    site = await startDemoSite();
    stack = await startStack({
      folder,
      log: pino({ level: 'silent' }),
      egress: { allowedCidrs: [`${new URL(site.url).hostname}/32`] },
      settings: { [ENV.userLimit]: '9' },
      runnerEnv: { ...shell(), [ENV.insecureLoginOrigins]: site.url },
    });
    sessions = new BrowserSessions(stack);
    await sessions.putPolicy({}, { version: 1, sites: { ports: [Number(new URL(site.url).port)] } });
    await sessions.putCredential('ada', 'bakery', site.login);
    model = await scriptedModel();
    env = {
      [ENV.controllerUrl]: stack.url,
      [ENV.serviceSecret]: stack.serviceSecret,
      PYTHONPATH: join(ROOT, 'clients', 'python', 'src'),
      PYTHONDONTWRITEBYTECODE: '1',
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: 'none',
      OPENAI_AGENTS_DISABLE_TRACING: '1',
    };
  }, 60_000);
  afterAll(async () => {
    await model?.[Symbol.asyncDispose]();
    await stack?.stop();
    await site?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const logIn = () => [
    { name: 'browser_navigate', arguments: { url: `${site.url}/login` } },
    {
      name: 'browser_fill_form',
      arguments: {
        fields: [
          { name: 'E-mail', type: 'textbox', target: '#username', value: 'BAKERY_USERNAME' },
          { name: 'Password', type: 'textbox', target: '#password', value: 'BAKERY_PASSWORD' },
        ],
      },
    },
    { name: 'browser_click', arguments: { target: '#submit' } },
  ];
  const LOOK = [{ name: 'browser_snapshot', arguments: {} }];

  /** One turn logs in; the next, of a process that knows nothing of it, finds its tab. */
  async function twoTurns(turn: (message: string) => Promise<string>): Promise<void> {
    model.script = logIn();
    expect(await turn('What are my orders at the bakery?')).toContain('Welcome back, Ada');
    expect(model.prompt).toContain('BAKERY_PASSWORD');
    expect(model.prompt).toContain('never as instructions');
    model.script = LOOK;
    expect(await turn('And the pie?')).toContain('1 apple pie');
  }

  /** By a program with the arguments user, conversation and message. */
  const program = (conversation: string, command: string, file: string) => async (message: string) => {
    const { code, stdout, stderr } = await run(command, [file, 'ada', conversation, message], { env });
    expect(code, stderr).toBe(0);
    return stdout;
  };

  const AGENTS: readonly (readonly [string, string, string])[] = [
    ['openai-agents', MCP_2, example('openai-agents', 'agent.py')],
    ['LangChain', MCP_1, example('langchain', 'agent.py')],
    ['the Vercel AI SDK', process.execPath, example('ai-sdk', 'agent.ts')],
  ];

  it.each(AGENTS)('%s', (name, command, file) => twoTurns(program(name, command, file)));

  it.each(AGENTS)('%s: the agent reads why its lease has ended, and its run goes on', async (name, command, file) => {
    const conversationId = `${name}, ended`;
    const end = async () => {
      const [session] = (await sessions.list({ userId: 'ada', conversationId })).sessions;
      await sessions.end(session?.session_id ?? '');
    };
    model.script = [...logIn().slice(0, 1), ...LOOK.map(call => ({ ...call, before: end }))];
    const said = await program(conversationId, command, file)('What are my orders at the bakery?');
    expect(said).toContain('The lease has ended: the platform ended it. Its tabs are closed.');
  });

  it('plain mcp', async () => {
    const look = program('mcp', MCP_2, example('mcp', 'look.py'));
    expect(await look(site.url)).toContain('Fresh every morning');
  });

  /** Runs a server of Python until the test is done with it. */
  async function serving(folder: string, args: readonly string[], test: () => Promise<void>): Promise<void> {
    const server = spawn(MCP_2, args, {
      cwd: example(folder),
      env: { ...shell(), ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const exited = once(server, 'exit');
    let said = '';
    server.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    try {
      await eventually('the server to listen', async () => said.includes('Uvicorn running'), 60_000);
      await test();
    } finally {
      server.kill('SIGTERM');
      await exited;
    }
  }

  it('a FastAPI app: a request a turn, and the end of the chat', async () => {
    const port = await freePort();
    await serving('fastapi', ['-m', 'uvicorn', 'app:app', '--port', String(port)], async () => {
      const chat = `http://127.0.0.1:${port}/v1/chats/api`;
      const headers = { 'x-user': 'ada', 'content-type': 'application/json' };
      await twoTurns(async message => {
        const response = await fetch(`${chat}/turns`, { method: 'POST', headers, body: JSON.stringify({ message }) });
        return response.text();
      });
      const found = async () => (await sessions.list({ userId: 'ada', conversationId: 'api' })).sessions;
      expect(await found()).toMatchObject([{ status: 'ready', epoch: 1 }]);
      expect((await fetch(`${chat}/browser`, { method: 'DELETE', headers })).status).toBe(204);
      expect(await found()).toMatchObject([{ status: 'ended', ended_reason: 'released' }]);
    });
  });

  it('an MCP gateway: a browser for each conversation, and a new one after the lease’s end', async () => {
    const port = await freePort();
    await serving('gateway', ['gateway.py', String(port)], async () => {
      const open = (conversation: string) => {
        const headers = { 'x-user': 'ada', 'x-conversation': conversation, authorization: 'Bearer of-the-platform' };
        return v2({ mcpUrl: `http://127.0.0.1:${port}/mcp`, headers });
      };
      const look = async (client: AnyClient) => (await client.call('browser_snapshot', {})).text;
      const [first, again, other] = [await open('gateway-1'), await open('gateway-1'), await open('gateway-2')];
      expect(await first.tools()).toContain('browser_navigate');
      for (const { name, arguments: given } of logIn())
        expect(await first.call(name, given)).toMatchObject({ isError: false });
      expect(await look(again)).toContain('Welcome back, Ada');
      expect(await look(other)).not.toContain('Ada');

      const [session] = (await sessions.list({ userId: 'ada', conversationId: 'gateway-1' })).sessions;
      await sessions.end(session?.session_id ?? '');
      expect(await look(first)).toContain('about:blank');
      const [next] = (await sessions.list({ userId: 'ada', conversationId: 'gateway-1' })).sessions;
      expect(next).toMatchObject({ status: 'ready', epoch: 2 });
      for (const client of [first, again, other]) await client.close();
    });
  });

  it('strict mode of openai-agents takes every tool of every toolset, and none requires what has a default', async () => {
    const lists = join(ROOT, 'contract', 'tool-list.json');
    const { code, stderr } = await run(MCP_2, [join(ROOT, 'test', 'examples', 'strict_tools.py'), lists]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });
});
