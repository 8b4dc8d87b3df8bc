import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OmicronError } from '../../contract/problem.ts';
import { eventually } from '../eventually.ts';
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

test('a refusal, a person who is away, and a senseless request are told apart', async () => {
  const declined = ask({ reason: 'Pay now?', timeout: 30 });
  await answer('Pay now?', 'declined');
  expect(await declined).toMatchObject({ success: false, status: 'declined' });
  const expired = ask({ reason: 'Anyone?', timeout: 1 });
  await answer('Anyone?', 'expired');
  expect(await expired).toMatchObject({ success: false, status: 'expired' });
  expect(await ask({ reason: '  ' })).toMatchObject({ success: false, error: { code: 'invalid_arguments' } });
  expect(await ask({ reason: 'x', timeout: 100_000 })).toMatchObject({ error: { code: 'invalid_arguments' } });
});
