import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../../local/free-port.ts';
import { eventually } from '../eventually.ts';
import { ROOT } from '../local/machine.ts';
import type { AnyClient } from '../runner/any-client.ts';
import { v2 } from '../runner/mcp-clients.ts';
import {
  AGENTS,
  example,
  HIBERNATED,
  hibernate,
  LOOK,
  logIn,
  on,
  program,
  python2,
  runExamples,
  twoTurns,
} from './example-agents.ts';

describe('the examples, each as it is, with a scripted model', { timeout: 90_000 }, () => {
  runExamples();

  it.each(AGENTS)('%s', (name, command, file) => twoTurns(program(name, command, file)));

  it('plain mcp', async () => {
    const look = program('mcp', python2, example('mcp', 'look.py'));
    expect(await look(on.site.url)).toContain('Fresh every morning');
  });

  /** Runs a server of Python until the test is done with it. */
  async function serving(folder: string, args: readonly string[], test: () => Promise<void>): Promise<void> {
    const server = await on.mcp2.start(args, example(folder));
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
      const found = async () => (await on.sessions.list({ userId: 'ada', conversationId: 'api' })).sessions;
      expect(await found()).toMatchObject([{ status: 'ready', epoch: 1 }]);
      on.model.script = LOOK.map(call => ({ ...call, before: () => hibernate('api') }));
      expect(await turn('And the cake?')).toContain(HIBERNATED);
      on.model.script = LOOK;
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

      const [session] = (await on.sessions.list({ userId: 'ada', conversationId: 'gateway-1' })).sessions;
      await on.sessions.end(session?.session_id ?? '');
      expect(await look(first)).toContain('about:blank');
      const [next] = (await on.sessions.list({ userId: 'ada', conversationId: 'gateway-1' })).sessions;
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
