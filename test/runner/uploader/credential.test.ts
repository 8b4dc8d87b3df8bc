import { afterAll, beforeAll, expect, test } from 'vitest';
import { egressCredential, uploadCredential } from '../../../contract/tokens.ts';
import { basic, get, isAnswer, tunnel } from '../../egress/raw-client.ts';
import { eventually } from '../../eventually.ts';
import { type LeasedRunner, type UploadWorld, uploadWorld } from './world.ts';

let w: UploadWorld;
beforeAll(async () => {
  w = await uploadWorld();
});
afterAll(() => w[Symbol.asyncDispose]());

const store = () => `http://s3.test:${w.front.port}/`;
const ask = async (auth: string, url = store()) => (await get(w.egressPort, auth, url)).refusal;
const uploader = ({ order }: LeasedRunner) => basic(order.runner_id, order.upload_credential ?? '');
const browser = ({ runner }: LeasedRunner) => basic(runner.id, runner.redeemed?.egress_credential ?? '');

test("an uploader's credential opens the artifact store and STS, and nothing else", async () => {
  await using lease = await w.lease();
  const auth = uploader(lease);
  expect(await ask(auth)).toBeUndefined();
  expect(await ask(auth, `http://sts.test:${w.front.port}/`)).toBeUndefined();
  expect(await ask(auth, 'http://site.test/')).toBe('site_not_allowed');
  expect(await ask(auth, `http://other.s3.test:${w.front.port}/`)).toBe('site_not_allowed');
  expect(await ask(auth, 'http://s3.test:80/')).toBe('port_refused');
  const answer = await tunnel(w.egressPort, auth, 'site.test:443');
  expect(isAnswer(answer) && answer.refusal).toBe('site_not_allowed');
  // Its denials are on the timeline of its session.
  await eventually('the denials are written', async () => {
    const { body } = await w.stack.call('GET', `${lease.sessionPath}/events`);
    return JSON.stringify(body).includes('site_not_allowed');
  });
});

test("no site policy keeps recordings from the store, and a browser's credential has no privilege there", async () => {
  await using lease = await w.lease();
  await w.stack.call('PUT', `${lease.sessionPath}/policy`, {
    body: { version: 1, sites: { allow: [], ports: [w.front.port] } },
  });
  expect(await ask(browser(lease))).toBe('site_not_allowed');
  expect(await ask(uploader(lease))).toBeUndefined();
});

test("the browser's credential dies with the lease, the uploader's when nothing is awaited any more", async () => {
  const release = w.stack.machine.hold('upload');
  const lease = await w.lease();
  const [mine, theirs] = [uploader(lease), browser(lease)];
  expect(await ask(theirs)).toBe('port_refused'); // known, and judged by its policy
  expect(await ask(mine)).toBeUndefined();
  await w.stack.call('DELETE', lease.sessionPath);
  await eventually('the browser is unknown', async () => (await ask(theirs)) === 'credential_refused');
  expect(await ask(mine)).toBeUndefined();
  release();
  await eventually('the runner is gone', () => !w.stack.machine.runners.has(lease.runner.id));
  await eventually('the uploader is unknown', async () => (await ask(mine)) === 'credential_refused');
});

test('a lease that is not recorded has an uploader too: for its files', async () => {
  await using lease = await w.lease();
  await w.stack.database.query('update omicron.runners set recorded = false where id = $1', [lease.runner.id]);
  expect(await ask(uploader(lease))).toBeUndefined();
});

test('neither credential can be made from the other, and both belong to one epoch', () => {
  const key = Buffer.alloc(32, 1);
  const lease = { session_id: crypto.randomUUID(), epoch: 1, runner_id: crypto.randomUUID() };
  const all = [1, 2].flatMap(epoch => [
    egressCredential(key, { ...lease, epoch }),
    uploadCredential(key, { ...lease, epoch }),
  ]);
  expect(new Set(all).size).toBe(4);
});
