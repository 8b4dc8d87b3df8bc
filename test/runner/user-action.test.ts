import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OmicronError } from '../../contract/problem.ts';
import type { UserAction } from '../../contract/user-action.ts';
import type { AskUser } from '../../runner/credentials/ask-user.ts';
import { textOf } from '../../runner/results/result.ts';
import { requestUserAction } from '../../runner/tools/request-user-action.ts';
import type { ToolLease } from '../../runner/tools/tool-lease.ts';
import { eventually } from '../eventually.ts';
import { steppedClock } from '../fakes/clock.ts';
import type { FakeController } from '../fakes/controller.ts';
import { type Site, startSite } from '../site/site.ts';
import { callText } from './start.ts';
import { type LeasedRunner, startLease } from './start-lease.ts';

let site: Site;
let lease: LeasedRunner;
let controller: FakeController;
let client: Client;
beforeAll(async () => {
  site = await startSite();
  lease = await startLease();
  ({ controller, client } = lease);
});
afterAll(async () => {
  await lease?.[Symbol.asyncDispose]();
  await site?.close();
});

const ask = async (args: object) => JSON.parse(await callText(client, 'browser_request_user_action', { ...args }));
const asked = (reason: string) =>
  eventually('the request', () => controller.userActions.find(action => action.reason === reason));
const answer = async (reason: string, status: 'done' | 'declined' | 'expired', note: string | null = null) => {
  const action = await asked(reason);
  Object.assign(action, { status, note });
};

test('an agent asks its person and gets the answer, while other calls go on', async () => {
  controller.failNext('/internal/runner-user-actions', new OmicronError('store_unavailable', 'away'));
  const waiting = ask({ reason: 'Code from the phone' });
  const request = await asked('Code from the phone');
  expect(Date.parse(request.expires_at) - Date.parse(request.created_at)).toBe(120_000);
  expect(await callText(client, 'browser_navigate', { url: site.url })).toContain('Welcome.');
  await answer('Code from the phone', 'done', 'it is 1234');
  expect(await waiting).toEqual({ success: true, status: 'done', reason: expect.any(String), note: 'it is 1234' });
  // Asked again under one id: the person sees one request.
  expect(controller.userActions).toHaveLength(1);
});

test('a refusal, a person who is away, and a senseless request are distinguished', async () => {
  const declined = ask({ reason: 'Pay now?', timeout: 30 });
  await answer('Pay now?', 'declined');
  expect(await declined).toMatchObject({ success: false, status: 'declined' });
  const expired = ask({ reason: 'Anyone?', timeout: 1 });
  await answer('Anyone?', 'expired');
  expect(await expired).toMatchObject({ success: false, status: 'expired' });
  expect(await ask({ reason: '  ' })).toMatchObject({ success: false, error: { code: 'invalid_arguments' } });
  expect(await ask({ reason: 'x', timeout: 100_000 })).toMatchObject({ error: { code: 'invalid_arguments' } });
});

test('a call that its client gave up is continued by the next one with the same arguments', async () => {
  const givenUp = new AbortController();
  const args = { reason: 'Scan the code', timeout: 60 };
  const first = client.callTool({ name: 'browser_request_user_action', arguments: args }, undefined, {
    signal: givenUp.signal,
  });
  const ended = expect(first).rejects.toThrow();
  await asked('Scan the code');
  givenUp.abort();
  await ended;
  const second = ask(args);
  await answer('Scan the code', 'done', 'scanned');
  expect(await second).toMatchObject({ status: 'done', note: 'scanned' });
  expect(controller.userActions.filter(({ reason }) => reason === 'Scan the code')).toHaveLength(1);
});

test('a call is answered within 50 seconds, and the same call again waits on for the one request', async () => {
  const clock = steppedClock();
  const ids: string[] = [];
  let status: UserAction['status'] = 'pending';
  const askUser: AskUser = async ({ id, wait_ms }) => {
    ids.push(id);
    clock.advance(wait_ms);
    // The part of a user action that the tool reads.
    return { status, note: null } as UserAction;
  };
  // The part of a lease that the tool reads.
  const lease = { askUser, openActions: new Map<string, string>() } as unknown as ToolLease;
  const call = async () => {
    const startMs = clock.nowMs();
    const signal = new AbortController().signal;
    const result = await requestUserAction.custom.run({ reason: 'Code?', timeout: 300 }, { lease, signal, clock });
    return { seconds: (clock.nowMs() - startMs) / 1_000, isError: result.isError, ...JSON.parse(textOf(result)) };
  };
  const pending = await call();
  expect(pending).toMatchObject({ success: false, status: 'pending' });
  expect(pending.isError).toBeUndefined();
  expect(pending.seconds).toBeGreaterThanOrEqual(50);
  expect(pending.seconds).toBeLessThan(55);
  status = 'done';
  expect(await call()).toMatchObject({ success: true, status: 'done' });
  expect(new Set(ids).size).toBe(1);
  await call();
  expect(new Set(ids).size).toBe(2);
});
