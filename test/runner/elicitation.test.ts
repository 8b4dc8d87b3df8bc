import { Client, type ElicitResult, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import type { FakeController } from '../fakes/controller.ts';
import { pythonClient } from './python-client.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

const VERSION = '2026-07-28';
const TOOL = 'browser_request_user_action';
const CONSOLE = 'https://console.example';

let lease: LeasedRunner;
let controller: FakeController;
const closing: (() => Promise<void>)[] = [];
beforeAll(async () => {
  lease = await startLease({
    prepare(fake) {
      fake.consoleUrl = CONSOLE;
    },
  });
  controller = lease.controller;
});
afterEach(async () => {
  await Promise.all(closing.splice(0).map(close => close()));
});
afterAll(async () => lease?.[Symbol.asyncDispose]());

const url = () => new URL(`${lease.runner.url}/mcp`);
const headers = () => ({ authorization: `Bearer ${lease.mcpToken}` });
const actionOf = (reason: string) =>
  eventually('the request', () => controller.userActions.find(action => action.reason === reason));

/** A client whose person does `act` when it is sent to an address. */
async function clientWith(capability: 'url' | 'form', act: () => Promise<ElicitResult>) {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: { [capability]: {} } }, versionNegotiation: { mode: { pin: VERSION } } },
  );
  const asked: unknown[] = [];
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params);
    return act();
  });
  await client.connect(new StreamableHTTPClientTransport(url(), { requestInit: { headers: headers() } }));
  closing.push(() => client.close());
  const call = async (args: Record<string, unknown>) => {
    const { content } = await client.callTool({ name: TOOL, arguments: args });
    const [first] = content;
    return first?.type === 'text' ? JSON.parse(first.text) : {};
  };
  return { asked, call };
}

describe('a client that opens addresses', () => {
  test('[M2] sends its person to the console, and the call ends with their answer there', async () => {
    const reason = 'Solve the CAPTCHA';
    const { asked, call } = await clientWith('url', async () => {
      Object.assign(await actionOf(reason), { status: 'done', note: 'solved' });
      return { action: 'accept' };
    });
    expect(await call({ reason })).toMatchObject({ success: true, status: 'done', note: 'solved' });
    const { session_id } = await actionOf(reason);
    expect(asked).toEqual([
      { mode: 'url', message: expect.stringContaining(reason), url: `${CONSOLE}/sessions/${session_id}` },
    ]);
    expect(controller.userActions.filter(action => action.reason === reason)).toHaveLength(1);
  });

  test('is answered at once when its person declines, and waits for the console when they only close the question', async () => {
    const declined = await clientWith('url', async () => ({ action: 'decline' }));
    expect(await declined.call({ reason: 'Pay?' })).toMatchObject({ success: false, status: 'declined' });
    const closed = await clientWith('url', async () => ({ action: 'cancel' }));
    const waiting = closed.call({ reason: 'Agree?' });
    Object.assign(await actionOf('Agree?'), { status: 'done' });
    expect(await waiting).toMatchObject({ status: 'done' });
  });

  test('in Python does the same', async () => {
    const client = await pythonClient('mcp_2_person', {
      mcpUrl: url().href,
      headers: { authorization: `Bearer ${lease.mcpToken}` },
    });
    closing.push(() => client.close());
    expect(client.version).toBe(VERSION);
    const reason = 'Scan the code';
    const waiting = client.call(TOOL, { reason });
    const action = await actionOf(reason);
    await eventually('the question', () => client.opened.length > 0);
    expect(client.opened).toEqual([`${CONSOLE}/sessions/${action.session_id}`]);
    Object.assign(action, { status: 'done' });
    expect(JSON.parse((await waiting).text)).toMatchObject({ status: 'done' });
  });
});

test('[M2] a client that shows forms only, and one of a deployment without a console, wait', async () => {
  const forms = await clientWith('form', async () => ({ action: 'decline' }));
  const waiting = forms.call({ reason: 'Form?' });
  Object.assign(await actionOf('Form?'), { status: 'done' });
  expect(await waiting).toMatchObject({ status: 'done' });
  controller.consoleUrl = undefined;
  const { asked, call } = await clientWith('url', async () => ({ action: 'decline' }));
  const alone = call({ reason: 'Alone?' });
  Object.assign(await actionOf('Alone?'), { status: 'done' });
  expect(await alone).toMatchObject({ status: 'done' });
  expect([...forms.asked, ...asked]).toEqual([]);
  controller.consoleUrl = CONSOLE;
});

/** One round, as it travels. */
async function round(runner: LeasedRunner, args: object, given: object = {}) {
  const response = await fetch(`${runner.runner.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${runner.mcpToken}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...{ 'mcp-protocol-version': VERSION, 'mcp-method': 'tools/call', 'mcp-name': TOOL },
    },
    body: JSON.stringify({
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: {
        ...{ name: TOOL, arguments: args, ...given },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': VERSION,
          'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
        },
      },
    }),
  });
  return JSON.parse((await response.text()).replace(/^[^{]*/, ''));
}

test('[M2] the state that a round leaves to the next is sealed to its arguments and its lease', async () => {
  const args = { reason: 'Sealed?' };
  const { result } = await round(lease, args);
  expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { person: expect.anything() } });
  const { requestState } = result;
  const accepted = { inputResponses: { person: { action: 'accept' } }, requestState };
  const refused = { error: { code: -32_602, message: expect.stringContaining('Call again without it') } };
  expect(await round(lease, { reason: 'Another?' }, accepted)).toMatchObject(refused);
  expect(await round(lease, args, { ...accepted, requestState: `${requestState.slice(0, -4)}AAAA` })).toMatchObject(
    refused,
  );
  await using next = await startLease();
  expect(await round(next, args, accepted)).toMatchObject(refused);
  expect(controller.userActions.filter(({ reason }) => reason === 'Another?')).toEqual([]);
  Object.assign(await actionOf('Sealed?'), { status: 'done' });
  expect((await round(lease, args, accepted)).result).toMatchObject({ content: [{ type: 'text' }] });
});
