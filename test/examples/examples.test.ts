import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import type { DemoSite } from '../../local/demo-site.ts';
import { freePort } from '../../local/free-port.ts';
import { pythonOf } from '../../local/test-tools.ts';
import { eventually } from '../eventually.ts';
import { type Finished, ROOT, run } from '../local/machine.ts';
import { type SiteStack, startSiteStack } from '../local/site-stack.ts';
import type { AnyClient } from '../runner/any-client.ts';
import { v2 } from '../runner/mcp-clients.ts';
import { type ScriptedModel, scriptedModel } from './scripted-model.ts';
import { type WarmPython, warmPython } from './warm-python.ts';

/** Modules that the examples of each environment import, which takes seconds. */
const MODULES = {
  python_mcp_1: ['langchain.agents', 'langchain_mcp_adapters.tools', 'langchain_openai', 'omicron_browser'],
  python_mcp_2: ['agents.mcp', 'fastapi', 'fastmcp', 'omicron_browser', 'uvicorn'],
};
/** The next call of a client that was handed the address alone. */
const HIBERNATED = 'Its tabs are kept, and come back with the session.';
const example = (...path: string[]) => join(ROOT, 'examples', ...path);

describe('the examples, each as it is, with a scripted model', { timeout: 90_000 }, () => {
  let on: SiteStack;
  let site: DemoSite;
  let sessions: BrowserSessions;
  let model: ScriptedModel;
  let env: Record<string, string>;
  let mcp1: WarmPython;
  let mcp2: WarmPython;
  beforeAll(async () => {
    on = await startSiteStack(({ url }) => ({
      settings: { [ENV.userLimit]: '9', [ENV.hibernate]: 'node' },
      runnerEnv: { [ENV.insecureLoginOrigins]: url },
    }));
    ({ site, sessions } = on);
    await sessions.putCredential('ada', 'bakery', site.login);
    model = await scriptedModel();
    env = {
      [ENV.controllerUrl]: on.stack.url,
      [ENV.serviceSecret]: on.stack.serviceSecret,
      PYTHONPATH: join(ROOT, 'clients', 'python', 'src'),
      PYTHONDONTWRITEBYTECODE: '1',
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: 'none',
      OPENAI_AGENTS_DISABLE_TRACING: '1',
    };
    [mcp1, mcp2] = await Promise.all([
      warmPython(pythonOf(ROOT, 'python_mcp_1'), MODULES.python_mcp_1, env),
      warmPython(pythonOf(ROOT, 'python_mcp_2'), MODULES.python_mcp_2, env),
    ]);
  }, 60_000);
  // Browsers of tests that are over would go on recording.
  afterEach(async () => {
    for (const { session_id } of (await sessions.list({ status: 'ready' })).sessions) await sessions.end(session_id);
  });
  afterAll(async () => {
    await mcp1?.[Symbol.asyncDispose]();
    await mcp2?.[Symbol.asyncDispose]();
    await model?.[Symbol.asyncDispose]();
    await on?.[Symbol.asyncDispose]();
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

  type Program = (args: string[]) => Promise<Finished>;
  const node: Program = args => run(process.execPath, args, { env });
  const python1: Program = async args => (await mcp1.start(args)).finished;
  const python2: Program = async args => (await mcp2.start(args)).finished;

  /** By a program with the arguments user, conversation and message. */
  const program = (conversation: string, command: Program, file: string) => async (message: string) => {
    const { code, stdout, stderr } = await command([file, 'ada', conversation, message]);
    expect(code, stderr).toBe(0);
    return stdout;
  };

  const AGENTS: readonly (readonly [string, Program, string])[] = [
    ['openai-agents', python2, example('openai-agents', 'agent.py')],
    ['LangChain', python1, example('langchain', 'agent.py')],
    ['the Vercel AI SDK', node, example('ai-sdk', 'agent.ts')],
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

  /** As when the node of its runner is drained. */
  async function hibernate(conversationId: string): Promise<void> {
    const [session] = (await sessions.list({ userId: 'ada', conversationId })).sessions;
    const file = join(on.folder, 'runners', session?.runner_id ?? '', 'process.json');
    process.kill(JSON.parse(await readFile(file, 'utf8')).pid, 'SIGTERM');
    await eventually(
      'hibernation',
      async () => (await sessions.get(session?.session_id ?? '')).status === 'hibernated',
    );
  }

  it.each(AGENTS)(
    '%s: a hibernated session says what to do, and the next turn finds its login',
    async (name, command, file) => {
      const conversationId = `${name}, hibernated`;
      const turn = program(conversationId, command, file);
      model.script = [...logIn(), ...LOOK.map(call => ({ ...call, before: () => hibernate(conversationId) }))];
      expect(await turn('What are my orders at the bakery?')).toContain(HIBERNATED);
      model.script = LOOK;
      expect(await turn('And the pie?')).toContain('Welcome back, Ada');
    },
  );

  it('plain mcp', async () => {
    const look = program('mcp', python2, example('mcp', 'look.py'));
    expect(await look(site.url)).toContain('Fresh every morning');
  });

  /** Runs a server of Python until the test is done with it. */
  async function serving(folder: string, args: readonly string[], test: () => Promise<void>): Promise<void> {
    const server = await mcp2.start(args, example(folder));
    try {
      await eventually('the server to listen', async () => (await server.stderr()).includes('Uvicorn running'), 60_000);
      await test();
    } finally {
      process.kill(server.pid, 'SIGTERM');
      await server.finished;
    }
  }

  it('a FastAPI app: a request a turn, and the end of the chat', async () => {
    const port = await freePort();
    await serving('fastapi', ['-m', 'uvicorn', 'app:app', '--port', String(port)], async () => {
      const chat = `http://127.0.0.1:${port}/v1/chats/api`;
      const headers = { 'x-user': 'ada', 'content-type': 'application/json' };
      const turn = async (message: string) => {
        const response = await fetch(`${chat}/turns`, { method: 'POST', headers, body: JSON.stringify({ message }) });
        return response.text();
      };
      await twoTurns(turn);
      const found = async () => (await sessions.list({ userId: 'ada', conversationId: 'api' })).sessions;
      expect(await found()).toMatchObject([{ status: 'ready', epoch: 1 }]);
      model.script = LOOK.map(call => ({ ...call, before: () => hibernate('api') }));
      expect(await turn('And the cake?')).toContain(HIBERNATED);
      model.script = LOOK;
      expect(await turn('And the bread?')).toContain('Welcome back, Ada');
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
    const { code, stderr } = await python2([join(ROOT, 'test', 'examples', 'strict_tools.py'), lists]);
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });
});
