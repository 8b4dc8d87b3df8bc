import { randomUUID } from 'node:crypto';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import type { WebhookAdded } from '../../contract/webhook.ts';
import { openEndpoint } from '../../controller/webhooks/endpoint.ts';
import { sealedWebhookSecrets } from '../../controller/webhooks/sealed-secret.ts';
import { webhookHeaders } from '../../controller/webhooks/sign.ts';
import { checkedConnections } from '../../egress/checked-connections.ts';
import { runHere } from '../cli/run-here.ts';
import { eventually } from '../eventually.ts';
import { testCertificate } from '../site/certificate.ts';
import { type Deployment, deployment, problemOf, type Stack, someUser, startStack } from './stack.ts';
import { isSignedBy, type Receiver, webhookReceiver } from './webhook-receiver.ts';

let shared: Deployment;
let stack: Stack;
let sessions: BrowserSessions;
const LOOPBACK = { [ENV.webhookAllowedCidrs]: '127.0.0.1/32' };
beforeAll(async () => {
  shared = await deployment({ OMICRON_POOL_IDLE: 0, OMICRON_CAPACITY: 50, OMICRON_USER_LIMIT: 50, ...LOOPBACK });
  stack = await startStack({}, shared);
  sessions = new BrowserSessions({ url: stack.url, serviceSecret: String(shared.environment[ENV.serviceSecret]) });
});
afterAll(async () => {
  await stack[Symbol.asyncDispose]();
  await shared[Symbol.asyncDispose]();
});

/** A session whose events a test writes. */
const session = async (user = someUser()): Promise<string> =>
  (await stack.lease({ user_id: user, conversation_id: randomUUID() })).session_id;

const write = (sessionId: string, ...numbers: number[]) =>
  stack.database.query(
    `select omicron.write_event($1, 1, 'file.added', jsonb_build_object('n', n)) from unnest($2::int[]) n order by n`,
    [sessionId, numbers],
  );

const sql = (text: string, ...parameters: unknown[]) => stack.database.query(text, parameters);

/** The next attempt of each waiting session is due. */
const passTime = (webhookId: string) =>
  sql('update omicron.webhook_waits set next_at = clock_timestamp() where webhook_id = $1', webhookId);
const passDay = async (webhookId: string) => {
  await sql(`update omicron.webhooks set resumed_at = resumed_at - interval '2 days' where id = $1`, webhookId);
  await sql(
    `update omicron.session_events set at = at - interval '2 days'
      where session_id in (select session_id from omicron.webhook_waits where webhook_id = $1)`,
    webhookId,
  );
  await passTime(webhookId);
};

/** Events that the controller has counted as given up. */
const undelivered = async (): Promise<number> => {
  const text = String((await stack.call('GET', '/metrics', { token: null })).body);
  return Number(/^omicron_webhook_undelivered_events_total (\d+)$/m.exec(text)?.[1]);
};

const add = (receiver: Receiver): Promise<WebhookAdded> =>
  sessions.webhooks.add({ url: receiver.url, kinds: ['file.added'] });

const command = (...args: string[]) =>
  runHere(args, {
    environment: {
      [ENV.controllerUrl]: stack.url,
      [ENV.serviceSecret]: String(shared.environment[ENV.serviceSecret]),
    },
  });

test('signs as the vector of Standard Webhooks says', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampSeconds: 1614265330, body: '{"test": 2432232314}' };
  expect(webhookHeaders(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], message)).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

describe('deliveries', () => {
  test('are sent over verified https, signed, of the kinds and the user that were asked for, and an id says which event it is', async () => {
    const certificate = testCertificate('hooks', { address: '127.0.0.1' });
    const before = tls.getCACertificates('default');
    await using receiver = await webhookReceiver(certificate);
    const [ada, bob] = [someUser(), someUser()];
    const [hers, his] = [await session(ada), await session(bob)];
    const { id, secret } = await sessions.webhooks.add({ url: receiver.url, kinds: ['file.added'], userId: ada });
    await write(hers, 1);
    const untrusted = await eventually('a refused certificate', async () => {
      const found = await sessions.webhooks.get(id);
      return found.waiting_sessions === 1 && found;
    });
    expect(untrusted.last_error).toContain('SELF_SIGNED');
    expect(receiver.received).toEqual([]);

    tls.setDefaultCACertificates([...before, certificate.cert]);
    await passTime(id);
    await write(his, 2);
    await sql(`select omicron.write_event($1, 1, 'tool.call', '{"n": 3}')`, hers);
    await write(hers, 4);
    await eventually('both', () => receiver.numbers().includes(4));
    tls.setDefaultCACertificates(before);
    expect(receiver.numbers()).toEqual([1, 4]);
    const [first] = receiver.received;
    if (first === undefined) throw new Error('nothing was received');
    expect(first.path).toBe('/hooks?key=1');
    expect(first.type).toBe('file.added');
    expect(first.event).toMatchObject({ session_id: hers, user_id: ada, epoch: 1, kind: 'file.added', data: { n: 1 } });
    expect(first.id).toBe(`evt_${first.event.id.replace('.', '_')}`);
    expect(receiver.received.every(each => isSignedBy(secret, each))).toBe(true);
    const state = await eventually('no wait', async () => {
      const found = await sessions.webhooks.get(id);
      return found.waiting_sessions === 0 && found;
    });
    expect(state).toMatchObject({ failed: 0, last_error: null });
    expect(state.delivered_at).not.toBeNull();
    await sessions.webhooks.delete(id);
  });

  test('a session of which an event is refused waits in its order, and neither another session nor another endpoint waits with it', async () => {
    await using poor = await webhookReceiver();
    await using good = await webhookReceiver();
    const [first, second] = [await session(), await session()];
    let broken = true;
    poor.answer.with = ({ event }) => (broken && event.data.n === 2 ? 500 : 200);
    const [a, b] = [await add(poor), await add(good)];
    await write(first, 1, 2, 3);
    await write(second, 11, 12);
    await eventually('others', () => good.numbers().length === 5 && poor.numbers().includes(12));
    await write(first, 4);
    await write(second, 13);
    await eventually('the later one', () => poor.numbers().includes(13) && good.numbers().length === 7);
    expect(poor.numbers()).not.toContain(3);
    const state = await sessions.webhooks.get(a.id);
    expect(state).toMatchObject({ waiting_sessions: 1, last_error: 'answered 500' });

    await passTime(a.id);
    await eventually('a second attempt', () => poor.numbers().filter(n => n === 2).length >= 2);
    const waits = await eventually('the wait to be longer', async () => {
      const rows = await sql(
        'select attempts, extract(epoch from next_at - clock_timestamp())::float8 as seconds from omicron.webhook_waits where webhook_id = $1',
        a.id,
      );
      return (rows[0] as { attempts: number; seconds: number }).attempts >= 2 && rows;
    });
    expect((waits[0] as { seconds: number }).seconds).toBeGreaterThan(6); // 10 s less a fifth and the time of this test
    broken = false;
    await passTime(a.id);
    await eventually('the rest', () => poor.numbers().includes(4));
    expect([...new Set(poor.numbers().filter(n => Number(n) < 10))]).toEqual([1, 2, 3, 4]);
    expect(poor.numbers().filter(n => Number(n) > 10)).toEqual([11, 12, 13]);
    for (const { id } of [a, b]) await sessions.webhooks.delete(id);
  });

  test('an endpoint that is down or answers nothing delays no other, and gets all in order when it is back', async () => {
    await using hanging = await webhookReceiver();
    await using good = await webhookReceiver();
    let hangs = true;
    const released = Promise.withResolvers<number>();
    hanging.answer.with = () => (hangs ? released.promise : 200);
    const [a, b] = [await add(hanging), await add(good)];
    const own = await Promise.all([session(), session(), session()]);
    // In one transaction: a round of deliveries holds them all, and ends with its slowest attempt.
    await sql(
      `select omicron.write_event(s, 1, 'file.added', jsonb_build_object('n', n))
         from unnest($1::uuid[]) s, unnest($2::int[]) n order by s, n`,
      own,
      [1, 2, 3],
    );
    await eventually('the good one', () => good.numbers().length === 9);
    await write(own[0] ?? '', 4);
    await eventually('the next', () => good.numbers().includes(4));
    await eventually('an attempt of each session', () => hanging.numbers().length >= 3);
    expect(hanging.numbers()).toEqual([1, 1, 1]);
    hangs = false;
    released.resolve(503);
    await eventually('waits', async () => (await sessions.webhooks.get(a.id)).waiting_sessions === 3);
    await passTime(a.id);
    await eventually('all', () => hanging.numbers().includes(4) && hanging.numbers().filter(n => n === 3).length === 3);
    for (const id of own) {
      const seen = hanging.received.filter(({ event }) => event.session_id === id).map(({ event }) => event.data.n);
      expect([...new Set(seen)]).toEqual(id === own[0] ? [1, 2, 3, 4] : [1, 2, 3]);
    }
    for (const { id } of [a, b]) await sessions.webhooks.delete(id);
  });

  test('an attempt that is not answered in time ends, and says so', async () => {
    await using silent = await webhookReceiver();
    silent.answer.with = () => new Promise(() => {});
    const connections = checkedConnections({
      denied: [],
      allowed: ['127.0.0.1/32'],
      lookupMs: 1_000,
      connectMs: 1_000,
    });
    const endpoint = openEndpoint(silent.url, connections, 300);
    const headers = { 'webhook-id': 'evt_1' };
    const posted = endpoint.post(headers, '{"type":"t","data":{}}', new AbortController().signal);
    expect(await posted).toEqual({ status: null, error: 'no answer within 0.3 s' });
    expect(silent.received).toHaveLength(1);
    endpoint.close();
  });

  test('events that were not delivered within a day are listed, no longer hold their session back, and are replayed once each', async () => {
    await using receiver = await webhookReceiver();
    const own = await session();
    receiver.answer.with = ({ event }) => (Number(event.data.n) <= 2 ? 500 : 200);
    const undeliveredBefore = await undelivered();
    const { id } = await add(receiver);
    await write(own, 1, 2, 3);
    await eventually('a wait', async () => (await sessions.webhooks.get(id)).waiting_sessions === 1);
    await passDay(id);
    await eventually('those behind it', () => receiver.numbers().includes(3));
    const listed = await command('webhook', 'failed', id, '-o', 'json');
    const { failures, next_cursor } = JSON.parse(listed.stdout);
    expect(
      failures.map((each: { data: unknown; error: string; attempts: number }) => [
        each.data,
        each.error,
        each.attempts,
      ]),
    ).toEqual([
      [{ n: 2 }, 'answered 500', 1],
      [{ n: 1 }, 'answered 500', 2],
    ]);
    expect(next_cursor).toBeNull();
    expect((await sessions.webhooks.listFailures(id, { limit: 1 })).next_cursor).toMatch(/^\d+$/);
    expect(await undelivered()).toBe(undeliveredBefore + 2);

    const replayed = await command('webhook', 'replay', id, failures[1].id);
    expect(JSON.parse(replayed.stdout)).toEqual({ id, replayed: 1 });
    await eventually('one more attempt', async () =>
      (await sessions.webhooks.listFailures(id)).failures.some(each => each.attempts === 3),
    );
    expect((await sessions.webhooks.get(id)).failed).toBe(2);
    receiver.answer.with = () => 200;
    receiver.received.length = 0;
    expect(await sessions.webhooks.replay(id)).toBe(2);
    await eventually('none left', async () => (await sessions.webhooks.get(id)).failed === 0);
    expect(receiver.numbers()).toEqual([1, 2]);
    await sessions.webhooks.delete(id);
  });
});

test('after a restore from a dump, new events come after the place of a webhook, and are delivered', async () => {
  await using receiver = await webhookReceiver();
  const own = await session();
  const { id } = await add(receiver);
  await write(own, 1);
  await eventually('the first', () => receiver.numbers().includes(1));
  await sessions.webhooks.pause(id);
  const isFree = () => sql('select from omicron.webhooks where id = $1 and holder is null', id);
  await eventually('the holder to let go', async () => (await isFree()).length === 1);
  // As it is on a server that has had fewer transactions.
  await sql('update omicron.webhooks set tx = tx + 1000000000000 where id = $1', id);
  await using restored = await startStack({}, shared);
  expect((await restored.call('POST', `/internal/webhooks/${id}/resume`)).status).toBe(200);
  await write(own, 2);
  await eventually('the second', () => receiver.numbers().includes(2));
  expect(receiver.numbers()).toEqual([1, 2]);
  await sessions.webhooks.delete(id);
});

describe('an operator', () => {
  test('adds, lists, tests, pauses, resumes and deletes a webhook by the command', async () => {
    await using receiver = await webhookReceiver();
    const own = await session();
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await command('webhook', ...args);
      expect([code, stderr]).toEqual([0, '']);
      return JSON.parse(stdout);
    };
    const added = await run('add', receiver.url, '--kind', 'file.added', '--description', 'billing');
    const { id, secret } = added;
    expect(added).toMatchObject({ url: receiver.url, kinds: ['file.added'], user_id: null, description: 'billing' });
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await run('list')).toEqual({ webhooks: [expect.objectContaining({ id, description: 'billing' })] });
    expect(await run('test', id)).toMatchObject({ delivered: true, status: 204, error: null });
    const [tested] = receiver.received;
    expect(tested?.type).toBe('webhook.test');
    expect(tested && isSignedBy(secret, tested)).toBe(true);
    receiver.answer.with = () => 302; // a redirect is not followed
    const failed = await command('webhook', 'test', id);
    expect([failed.code, JSON.parse(failed.stdout)]).toEqual([
      1,
      { delivered: false, status: 302, error: 'answered 302', duration_ms: expect.any(Number) },
    ]);
    receiver.answer.with = () => 200;

    expect((await run('pause', id)).paused_at).not.toBeNull();
    await eventually(
      'the holder to let go',
      async () => (await sql('select from omicron.webhooks where id = $1 and holder is null', id)).length === 1,
    );
    await write(own, 1, 2);
    await sql('select pg_sleep(0.6)');
    expect(receiver.numbers()).toEqual([]);
    expect((await run('resume', id)).paused_at).toBeNull();
    await eventually('both', () => receiver.numbers().length === 2);
    expect(await run('delete', id)).toEqual({ id, deleted: true });
    expect(await run('list')).toEqual({ webhooks: [] });
    // deliveries stop within a second
    await eventually('its deliveries to end', async () => (await receiver.connections()) === 0);
    await write(own, 3);
    const gone = await command('webhook', 'pause', id);
    expect([gone.code, gone.stderr]).toEqual([3, expect.stringContaining('webhook_not_found')]);
    expect(receiver.numbers()).toEqual([1, 2]);
  });

  test('rotates a secret: both sign for a day, then the new one alone; the database holds neither, and no log does', async () => {
    await using receiver = await webhookReceiver();
    const own = await session();
    const { id, secret } = await add(receiver);
    const rotated = await sessions.webhooks.rotateSecret(id);
    expect(Date.parse(rotated.both_until) - Date.now()).toBeGreaterThan(86_000_000);
    // the delivery that runs learns it within a second
    await eventually('both signatures', async () => {
      await write(own, 1);
      return receiver.received.some(each => isSignedBy(secret, each) && isSignedBy(rotated.secret, each));
    });
    await sql(`update omicron.webhooks set secret_before_until = clock_timestamp() where id = $1`, id);
    await eventually('the new one alone', async () => {
      await write(own, 2);
      return receiver.received.some(each => !isSignedBy(secret, each) && isSignedBy(rotated.secret, each));
    });
    const [row] = await sql('select to_jsonb(w)::text as row, secret from omicron.webhooks w where id = $1', id);
    const { row: text, secret: sealed } = row as { row: string; secret: string };
    const key = Buffer.from(String(shared.environment[ENV.derivationKey]), 'base64');
    expect(sealedWebhookSecrets(key).open(sealed, id)).toBe(rotated.secret);
    expect(() => sealedWebhookSecrets(key).open(sealed, randomUUID())).toThrow('OMICRON_DERIVATION_KEY');
    const listed = JSON.stringify(await sessions.webhooks.list());
    for (const each of [secret, rotated.secret])
      for (const where of [text, listed, stack.logged()]) expect(where).not.toContain(each.slice('whsec_'.length));
    await sessions.webhooks.delete(id);
  });

  test('is refused what is no address for a webhook, with the value and what to do, and nothing is added', async () => {
    await using closed = await startStack({ [ENV.webhookAllowedCidrs]: '' }, shared);
    const refused = async (url: unknown, replica = closed) => {
      const answer = await replica.call('POST', '/internal/webhooks', { body: { url } });
      expect(answer.status, String(url)).toBe(400);
      return problemOf(answer).detail;
    };
    expect(await refused('hooks.example')).toContain('"hooks.example" is no URL; give an https URL such as');
    expect(await refused('ftp://example.com/x')).toContain('the scheme ftp:');
    expect(await refused('https://me:pass@example.com/')).toMatch(/user or a password for example\.com/);
    expect(await refused('https://me:pass@example.com/')).not.toContain('pass@');
    const remedy = `use https and a public address, or open its range with ${ENV.webhookAllowedCidrs}`;
    for (const [host, why] of [
      ['10.0.0.5', 'is an address of an internal network (private)'],
      ['169.254.169.254', 'is an address of an internal network (metadata)'],
      ['[::1]:8443', 'is an address of an internal network (loopback)'],
      ['0x7f.1', 'is an address of an internal network (loopback)'],
      ['platform.omicron.svc', 'is a name of an internal network'],
      ['localhost', 'is a name of an internal network'],
    ] as const)
      expect(await refused(`https://${host}/hooks`)).toMatch(
        new RegExp(`, which ${why.replace(/[()]/g, '\\$&')}: ${remedy}`),
      );
    expect(await refused('http://93.184.216.34/hooks')).toContain('93.184.216.34, which is reached by https alone');
    expect(await refused('http://10.0.0.5/', stack)).toContain('10.0.0.5');
    expect(await refused('')).toContain('url');
    const kinds = await closed.call('POST', '/internal/webhooks', {
      body: { url: 'https://1.1.1.1/', kinds: ['tool.cal'] },
    });
    expect(problemOf(kinds).detail).toContain('kinds');
    expect(
      (await closed.call('POST', '/internal/webhooks', { body: { url: 'https://1.1.1.1/' }, user: 'ada' })).status,
    ).toBe(403);
    expect((await closed.call('GET', '/internal/webhooks', { token: null })).status).toBe(401);
    expect(await sessions.webhooks.list()).toEqual([]);
    const byCommand = await command('webhook', 'add', 'http://10.0.0.5/hooks');
    expect([byCommand.code, byCommand.stderr]).toEqual([2, expect.stringContaining('10.0.0.5')]);
  });

  test('an address that is closed later is not connected to, and the webhook says why', async () => {
    await using receiver = await webhookReceiver();
    const { id } = await add(receiver);
    await using closed = await startStack({ [ENV.webhookAllowedCidrs]: '' }, shared);
    const { body } = await closed.call('POST', `/internal/webhooks/${id}/test`);
    expect(body).toMatchObject({ delivered: false, status: null, error: expect.stringContaining('(loopback)') });
    expect(receiver.received).toEqual([]);
    await sessions.webhooks.delete(id);
  });
});
