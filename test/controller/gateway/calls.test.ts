import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { APP_TOOLS, SHOW_TOOL } from '../../../contract/app-names.ts';
import { APP_URI, SHOWS_APPS } from '../../../contract/mcp-app.ts';
import { eventually } from '../../eventually.ts';
import { type Stack, someUser } from '../stack.ts';
import { type Gateway, gatewayClient, HOLD, startGateway, textOf } from './gateway.ts';

let gateway: Gateway;
let stack: Stack;
beforeAll(async () => {
  gateway = await startGateway({ OMICRON_LIVE_URL: 'https://browsers.example/live' });
  stack = await gateway.replica();
});
afterAll(() => gateway?.[Symbol.asyncDispose]());

const sessionsOf = async (user: string) =>
  (await stack.call('GET', `/internal/browser-sessions?user_id=${user}`)).body as {
    sessions: { session_id: string; conversation_id: string; status: string; epoch: number }[];
  };

describe.each(['legacy', 'auto'] as const)('a client of the gateway (%s)', mode => {
  const connect = async (user: string) => gatewayClient(stack, await gateway.issuer.token(user), mode);

  it('[M7] lists the tools without a lease, and the first call of a conversation leases its browser', async () => {
    const user = someUser();
    const client = await connect(user);
    expect(client.getNegotiatedProtocolVersion()).toBe(mode === 'auto' ? '2026-07-28' : '2025-11-25');
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'browser_click')?.inputSchema.properties).toMatchObject({
      target: {},
      sessionId: { type: 'string', 'x-mcp-header': 'Session' },
    });
    expect((await sessionsOf(user)).sessions).toEqual([]);
    const call = (args: Record<string, unknown>) => client.callTool({ name: 'browser_snapshot', arguments: args });
    const [one, again, other, plain] = [
      textOf(await call({ sessionId: 'chat-1' })),
      textOf(await call({ sessionId: 'chat-1', depth: 2 })),
      textOf(await call({ sessionId: 'Gespräch „zwei“' })),
      textOf(await call({})),
    ];
    expect(again).toBe(one);
    expect(new Set([one, other, plain]).size).toBe(3);
    expect(gateway.ran.filter(({ args }) => 'sessionId' in args)).toEqual([]); // a runner knows its one session
    expect(gateway.ran).toContainEqual(expect.objectContaining({ args: { depth: 2 } }));
    const found = (await sessionsOf(user)).sessions.map(({ conversation_id, status }) => [conversation_id, status]);
    expect(found.sort()).toEqual([
      ['Gespräch „zwei“', 'ready'],
      ['chat-1', 'ready'],
      ['default', 'ready'],
    ]);
    await client.close();
  });

  it('takes the id of one of the user’s sessions for its conversation, and of another user’s for a name', async () => {
    const [ada, bob] = [someUser(), someUser()];
    const client = await connect(ada);
    const own = textOf(await client.callTool({ name: 'browser_snapshot', arguments: { sessionId: 'chat-1' } }));
    const [session] = (await sessionsOf(ada)).sessions;
    const id = session?.session_id ?? '';
    const byId = { name: 'browser_snapshot', arguments: { sessionId: id } };
    expect(textOf(await client.callTool(byId))).toBe(own);
    const stranger = await connect(bob);
    expect(textOf(await stranger.callTool(byId))).not.toBe(own);
    expect((await sessionsOf(bob)).sessions.map(each => each.conversation_id)).toEqual([id]);
    await client.close();
    await stranger.close();
  });

  it('leases again when a lease has ended, and when its runner is gone', async () => {
    const user = someUser();
    const client = await connect(user);
    const call = () => client.callTool({ name: 'browser_snapshot', arguments: { sessionId: 'c' } });
    await call();
    const [first] = (await sessionsOf(user)).sessions;
    await stack.call('DELETE', `/internal/browser-sessions/${first?.session_id}`);
    expect(textOf(await call())).toMatch(/ran browser_snapshot/);
    const leased = [...gateway.shared.machine.runners.values()].find(
      each => each.exited === null && each.assignment?.session_id === first?.session_id,
    );
    leased?.kill();
    expect(textOf(await call())).toMatch(/ran browser_snapshot/);
    expect((await sessionsOf(user)).sessions).toMatchObject([{ status: 'ready', epoch: 3 }]);
    await client.close();
  });

  it('does not repeat a call whose runner died while it ran, and says so', async () => {
    const user = someUser();
    const client = await connect(user);
    const held = client.callTool({ name: HOLD, arguments: { of: user, sessionId: 'c' } });
    const runs = () => gateway.ran.filter(({ args }) => args.of === user).length;
    await eventually('the call to run', () => runs() === 1);
    const [session] = (await sessionsOf(user)).sessions;
    for (const each of gateway.shared.machine.runners.values())
      if (each.assignment?.session_id === session?.session_id) each.kill();
    const result = await held;
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('call_interrupted');
    expect(runs()).toBe(1);
    await client.close();
  });

  it('cancels a call at its runner, by the client’s signal and by its going away', async () => {
    const user = someUser();
    const cancelling = new AbortController();
    const client = await connect(user);
    const named = client.callTool({ name: HOLD, arguments: { of: `${user}-signal` } }, { signal: cancelling.signal });
    await eventually('the call to run', () => gateway.ran.some(({ args }) => args.of === `${user}-signal`));
    cancelling.abort();
    await expect(named).rejects.toThrow();
    await eventually('its cancellation', () => gateway.cancelled.includes(`${user}-signal`));
    const leaving = await connect(user);
    leaving.callTool({ name: HOLD, arguments: { of: `${user}-gone` } }).catch(() => {});
    await eventually('the call to run', () => gateway.ran.some(({ args }) => args.of === `${user}-gone`));
    await leaving.close();
    await eventually('its cancellation', () => gateway.cancelled.includes(`${user}-gone`));
    await client.close();
  });

  it('shows apps to clients that have a place for them; what their pages call begins no lease, and keeps none', async () => {
    const user = someUser();
    expect((await (await connect(user)).listTools()).tools.map(({ name }) => name)).not.toContain(SHOW_TOOL);
    const client = await gatewayClient(stack, await gateway.issuer.token(user), mode, SHOWS_APPS);
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === SHOW_TOOL)?._meta).toEqual({ ui: { resourceUri: APP_URI } });
    expect(tools.find(({ name }) => name === APP_TOOLS.exchange)?._meta).toEqual({ ui: { visibility: ['app'] } });
    const [page] = (await client.readResource({ uri: APP_URI })).contents;
    expect(page).toMatchObject({
      mimeType: 'text/html;profile=mcp-app',
      _meta: { ui: { csp: { connectDomains: ['wss://browsers.example'] } } },
    });
    const ofPage = () => client.callTool({ name: APP_TOOLS.exchange, arguments: { sessionId: 'c', wait_ms: 0 } });
    expect(textOf(await ofPage())).toContain('lease_ended');
    expect((await sessionsOf(user)).sessions).toEqual([]);
    await client.callTool({ name: SHOW_TOOL, arguments: { sessionId: 'c' } });
    const [before] = (await sessionsOf(user)).sessions;
    expect(textOf(await ofPage())).toMatch(/ran browser_live_exchange/);
    expect((await sessionsOf(user)).sessions).toEqual([before]);
    await client.close();
  });

  it('answers what refuses a lease as a result that the agent can read', async () => {
    const client = await connect(someUser());
    for (const sessionId of ['a', 'b', 'c'])
      await client.callTool({ name: 'browser_snapshot', arguments: { sessionId } });
    const fourth = await client.callTool({ name: 'browser_snapshot', arguments: { sessionId: 'd' } });
    expect(fourth.isError).toBe(true);
    expect(textOf(fourth)).toContain('user_quota_exceeded');
    const wrong = await client.callTool({ name: 'browser_snapshot', arguments: { sessionId: 'x'.repeat(300) } });
    expect(textOf(wrong)).toContain('sessionId must be');
    await client.close();
  });

  it('does not list what the user’s policy never allows', async () => {
    const user = someUser();
    const policy = { version: 1, tools: [{ tools: ['browser_evaluate'], action: 'block_always' }] };
    expect((await stack.call('PUT', `/internal/users/${user}/policy`, { body: policy })).status).toBe(200);
    const client = await connect(user);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).not.toContain('browser_evaluate');
    expect(names).toContain('browser_click');
    await client.close();
  });
});
