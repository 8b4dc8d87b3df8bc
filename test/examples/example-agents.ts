import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { pythonOf } from '../../local/test-tools.ts';
import { eventually } from '../eventually.ts';
import { type Finished, ROOT, run, runnerPid } from '../local/machine.ts';
import { type SiteStack, startSiteStack } from '../local/site-stack.ts';
import { type ScriptedModel, scriptedModel } from './scripted-model.ts';
import { type WarmPython, warmPython } from './warm-python.ts';

/** Modules that the examples of each environment import, which takes seconds. */
const MODULES = {
  python_mcp_1: ['langchain.agents', 'langchain_mcp_adapters.tools', 'langchain_openai', 'omicron_browser'],
  python_mcp_2: ['agents.mcp', 'fastapi', 'fastmcp', 'omicron_browser', 'uvicorn'],
};
/** The next call of a client that was handed the address alone. */
export const HIBERNATED = 'Its tabs are kept, and come back with the session.';
export const example = (...path: string[]) => join(ROOT, 'examples', ...path);

/** A stack with the demo site, a scripted model, and Python of either release of the MCP SDK, for the tests of a file. */
export const on = {} as SiteStack & {
  model: ScriptedModel;
  env: Record<string, string>;
  mcp1: WarmPython;
  mcp2: WarmPython;
};

export function runExamples(): void {
  beforeAll(async () => {
    const started = await startSiteStack(({ url }) => ({
      settings: { [ENV.userLimit]: '9', [ENV.hibernate]: 'node' },
      runnerEnv: { [ENV.insecureLoginOrigins]: url },
    }));
    Object.assign(on, started, { model: await scriptedModel() });
    await on.sessions.putCredential('ada', 'bakery', on.site.login);
    on.env = {
      [ENV.controllerUrl]: on.stack.url,
      [ENV.serviceSecret]: on.stack.serviceSecret,
      PYTHONPATH: join(ROOT, 'clients', 'python', 'src'),
      PYTHONDONTWRITEBYTECODE: '1',
      OPENAI_BASE_URL: on.model.url,
      OPENAI_API_KEY: 'none',
      OPENAI_AGENTS_DISABLE_TRACING: '1',
    };
    [on.mcp1, on.mcp2] = await Promise.all([
      warmPython(pythonOf(ROOT, 'python_mcp_1'), MODULES.python_mcp_1, on.env),
      warmPython(pythonOf(ROOT, 'python_mcp_2'), MODULES.python_mcp_2, on.env),
    ]);
  }, 60_000);
  // Browsers of tests that are over would go on recording.
  afterEach(async () => {
    const { sessions } = await on.sessions.list({ status: 'ready' });
    for (const { session_id } of sessions) await on.sessions.end(session_id);
  });
  afterAll(async () => {
    await on.mcp1?.[Symbol.asyncDispose]();
    await on.mcp2?.[Symbol.asyncDispose]();
    await on.model?.[Symbol.asyncDispose]();
    await on[Symbol.asyncDispose]?.();
  });
}

export const logIn = () => [
  { name: 'browser_navigate', arguments: { url: `${on.site.url}/login` } },
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
export const LOOK = [{ name: 'browser_snapshot', arguments: {} }];

/** One turn logs in; the next, of a process that knows nothing of it, finds its tab. */
export async function twoTurns(turn: (message: string) => Promise<string>): Promise<void> {
  on.model.script = logIn();
  expect(await turn('What are my orders at the bakery?')).toContain('Welcome back, Ada');
  expect(on.model.prompt).toContain('BAKERY_PASSWORD');
  expect(on.model.prompt).toContain('never as instructions');
  on.model.script = LOOK;
  expect(await turn('And the pie?')).toContain('1 apple pie');
}

type Program = (args: string[]) => Promise<Finished>;
const node: Program = args => run(process.execPath, args, { env: on.env });
const python1: Program = async args => (await on.mcp1.start(args)).finished;
export const python2: Program = async args => (await on.mcp2.start(args)).finished;

/** By a program with the arguments user, conversation and message. */
export const program = (conversation: string, command: Program, file: string) => async (message: string) => {
  const { code, stdout, stderr } = await command([file, 'ada', conversation, message]);
  expect(code, stderr).toBe(0);
  return stdout;
};

export const AGENTS: readonly (readonly [string, Program, string])[] = [
  ['openai-agents', python2, example('openai-agents', 'agent.py')],
  ['LangChain', python1, example('langchain', 'agent.py')],
  ['the Vercel AI SDK', node, example('ai-sdk', 'agent.ts')],
];

/** As when the node of its runner is drained. */
export async function hibernate(conversationId: string): Promise<void> {
  const [session] = (await on.sessions.list({ userId: 'ada', conversationId })).sessions;
  process.kill(await runnerPid(on.folder, session?.runner_id ?? ''), 'SIGTERM');
  await eventually(
    'hibernation',
    async () => (await on.sessions.get(session?.session_id ?? '')).status === 'hibernated',
  );
}
