import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { EffectivePolicy } from '../../contract/policy/document.ts';
import { type PolicyDocument, parsePolicy } from '../../contract/policy/document.ts';
import { OmicronError } from '../../contract/problem.ts';
import { eventually } from '../eventually.ts';
import { type FakeController, startFakeController } from '../fakes/controller.ts';
import { type Site, startSite } from '../site/site.ts';
import { callText, connect, type RunnerProcess, startRunner } from './start.ts';

let site: Site;
let controller: FakeController;
let runner: RunnerProcess;
let client: Client;
beforeAll(async () => {
  site = await startSite();
  return () => site.close();
});
beforeEach(async () => {
  controller = await startFakeController();
  runner = await startRunner(controller);
});
afterEach(async () => {
  await client?.close();
  await runner.dispose();
  await controller.close();
});

const document = (text: object): PolicyDocument => parsePolicy({ version: 1, ...text });
const policy = (version: string, deployment: object, session: object = {}): EffectivePolicy => ({
  version,
  layers: [
    { layer: 'deployment', policy: document(deployment) },
    { layer: 'session', policy: document(session) },
  ],
});

let mcpToken: string;

async function lease(given: EffectivePolicy): Promise<string> {
  controller.policy = given;
  const assigned = await controller.assignment(runner);
  const { token, sessionId } = assigned;
  mcpToken = assigned.mcpToken;
  await runner.post('/assign', { token });
  client = await connect(runner.url, mcpToken);
  return sessionId;
}

/** The last list of tools that a client of 2026-07-28 received without asking. */
async function listener(): Promise<{ readonly heard: string[] | undefined } & AsyncDisposable> {
  let heard: string[] | undefined;
  const onChanged = (_error: Error | null, tools: { name: string }[] | null) => {
    heard = tools?.map(({ name }) => name);
  };
  const listening = new ModernClient(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: 'auto' }, listChanged: { tools: { onChanged } } },
  );
  const requestInit = { headers: { authorization: `Bearer ${mcpToken}` } };
  await listening.connect(new StreamableHTTPClientTransport(new URL(`${runner.url}/mcp`), { requestInit }));
  return {
    get heard() {
      return heard;
    },
    [Symbol.asyncDispose]: () => listening.close(),
  };
}

const call = async (name: string, args: Record<string, unknown> = {}) => {
  const result = await client.callTool({ name, arguments: args });
  return { text: JSON.stringify(result.content), code: result._meta?.['omicron.dev/code'], failed: result.isError };
};

test('[A6] each call is decided by the rules of every layer, and the timeline says which rule blocked it', async () => {
  const sessionId = await lease(
    policy(
      '1',
      {
        tools: [
          { tools: ['browser_evaluate'], action: 'block_always', reason: 'No scripts here.' },
          {
            tools: ['browser_navigate', 'browser_tabs'],
            when: [{ path: 'url', operator: 'contains', value: '/login' }],
            action: 'block_always',
            reason: 'No logins.',
          },
          {
            tools: ['browser_type'],
            when: [{ path: 'sessionId', operator: 'notStartsWith', value: 'x' }],
            action: 'allow',
          },
        ],
      },
      {
        tools: [{ tools: ['browser_*'], except: ['browser_hover'], action: 'allow' }],
        defaults: { tools: 'block_always' },
      },
    ),
  );
  const table: [string, Record<string, unknown>, string | undefined][] = [
    ['browser_navigate', { url: site.url }, undefined],
    ['browser_navigate', { url: site.url, sessionId }, undefined],
    ['browser_navigate', { url: `${site.url}/login` }, 'tools[1]'],
    ['browser_tabs', { action: 'new', url: `${site.url}/login` }, 'tools[1]'],
    ['browser_tabs', { action: 'list' }, undefined],
    ['browser_evaluate', { function: '() => 1' }, 'tools[0]'],
    ['browser_hover', { target: 'a' }, 'blocks what no rule allows'],
    ['browser_snapshot', {}, undefined],
  ];
  for (const [name, args, blocked] of table) {
    const { text, code, failed } = await call(name, args);
    expect(code, name).toBe(blocked === undefined ? undefined : 'policy_blocked');
    expect(failed === true, name).toBe(blocked !== undefined);
    if (blocked !== undefined) expect(text).toContain(blocked);
  }
  // The blocked call did not happen.
  expect(await callText(client, 'browser_tabs', { action: 'list' })).not.toContain('/login');
  const events = await eventually('every event', () => {
    const calls = controller.events.filter(({ kind }) => kind === 'tool.call');
    return calls.length > table.length ? calls : undefined;
  });
  expect(
    events
      .filter(({ data }) => data.code === 'policy_blocked')
      .map(({ data }) => [data.tool, data.outcome, data.layer, data.rule]),
  ).toEqual([
    ['browser_navigate', 'blocked', 'deployment', 1],
    ['browser_tabs', 'blocked', 'deployment', 1],
    ['browser_evaluate', 'blocked', 'deployment', 0],
    ['browser_hover', 'blocked', 'session', null],
  ]);
  expect(events.filter(({ data }) => data.code !== undefined)).toHaveLength(4);
  // A tool that no arguments could get through is not offered.
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toContain('browser_navigate');
  expect(names).not.toContain('browser_evaluate');
  expect(names).not.toContain('browser_hover');
});

test('once web content was seen, only rules for untrusted contexts let a call pass', async () => {
  await lease(
    policy('1', {
      tools: [
        { tools: ['browser_navigate', 'browser_snapshot'], action: 'allow_when_context_is_untrusted' },
        { tools: ['browser_*'], action: 'allow' },
      ],
      defaults: { untrustedContext: 'block' },
    }),
  );
  expect((await call('browser_resize', { width: 800, height: 600 })).code).toBeUndefined();
  expect((await call('browser_navigate', { url: site.url })).text).toContain('Welcome.');
  const blocked = await call('browser_click', { target: 'a' });
  expect(blocked.code).toBe('policy_blocked');
  expect(blocked.text).toContain('Untrusted web content');
  expect((await call('browser_snapshot')).text).toContain('Welcome.');
  // Closing the page does not make the model forget.
  expect((await call('browser_close')).code).toBe('policy_blocked');
});

test('a policy changed while the lease lives holds without a new connection; one that cannot be read changes nothing', async () => {
  // Under 30 s left, activity is reported at once.
  controller.remainingMs = 20_000;
  await lease(policy('1', {}));
  await using listening = await listener();
  expect((await call('browser_navigate', { url: site.url })).failed).toBeFalsy();
  controller.failNext('/internal/runner-policy', new OmicronError('store_unavailable', 'away'));
  controller.policy = policy('2', {
    tools: [{ tools: ['browser_navigate'], action: 'block_always', reason: 'Changed.' }],
  });
  let tries = 0;
  const changed = await eventually('the new policy', async () => {
    tries += 1;
    const { code, text } = await call('browser_navigate', { url: site.url });
    return code === 'policy_blocked' ? text : undefined;
  });
  expect(changed).toContain('Changed.');
  expect(tries).toBeGreaterThan(1);
  expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('browser_navigate');
  const heard = await eventually('the changed list', () => listening.heard);
  expect(heard).toContain('browser_snapshot');
  expect(heard).not.toContain('browser_navigate');
  controller.policy = policy('3', {});
  await eventually(
    'the policy after it',
    async () => (await call('browser_navigate', { url: site.url })).code === undefined,
  );
});
