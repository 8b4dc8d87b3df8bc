import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import {
  type EgressGrant,
  REFUSALS,
  type WatchAnswer,
  type WatchRequest,
  watchRequest,
} from '../../contract/egress.ts';
import type { EgressLease } from '../../egress/lease.ts';
import { grantDecision, isFresh, isOverdue, LeaseTable } from '../../egress/lease-table.ts';
import { leaseWatch, watchVerdict } from '../../egress/lease-watch.ts';
import { eventually } from '../eventually.ts';
import { steppedClock } from '../fakes/clock.ts';

const grant = (changes: Partial<EgressGrant> = {}): EgressGrant => ({
  session_id: randomUUID(),
  runner_id: randomUUID(),
  epoch: 2,
  client: 'browser',
  version: '1',
  remaining_ms: 60_000,
  layers: [],
  ...changes,
});

/** A table whose clock starts at 0, and a way to fill it. */
function leases(leasesMax = 2_000) {
  const table = new LeaseTable({ connectionsMax: 1, bytesMax: 1 }, leasesMax);
  const add = (granted = grant()): EgressLease => {
    const outcome = table.grant(granted.runner_id, granted, 0);
    if (!('lease' in outcome)) throw new Error(outcome.refused);
    return outcome.lease;
  };
  return { table, add };
}

/** A controller whose watches answer when the test says so. */
function heldWatches(clock = steppedClock(0.5), leasesMax = 2_000) {
  const { table, add } = leases(leasesMax);
  const asked: { request: WatchRequest; answer(lines: WatchAnswer['leases']): void; fail(): void }[] = [];
  const failures: unknown[] = [];
  const stopping = new AbortController();
  const watch = leaseWatch({
    source: {
      lookup: () => Promise.reject(new Error('not asked here')),
      watch: request =>
        new Promise((resolve, reject) => {
          const fail = () => reject(new Error('no answer'));
          asked.push({ request, answer: lines => resolve({ leases: lines }), fail });
        }),
      report: () => Promise.reject(new Error('not asked here')),
    },
    table,
    leasesMax,
    watchMs: 4000,
    clock,
    stopping: stopping.signal,
    onUnavailable: cause => failures.push(cause),
  });
  return { table, add, asked, failures, watch, clock };
}

it.each([
  ['create', undefined, {}],
  ['create', { epoch: 2, session_id: randomUUID() }, {}],
  ['create', { epoch: 2 }, { epoch: 3 }],
  ['adopt', { epoch: 2 }, { epoch: 2, version: '2' }],
  ['refuse', { epoch: 2 }, { epoch: 1 }],
] as const)('decides to %s a grant when its runner holds %j and it brings %j', (decision, held, brought) => {
  const first = grant();
  const lease = held && leases().add({ ...first, ...held });
  expect(grantDecision(lease, { ...first, ...brought })).toBe(decision);
});

it('uses a lease while it was confirmed recently, and ends it when it was not for long or its time is up', () => {
  const lease = leases().add(grant({ remaining_ms: 10_000 }));
  expect([6_000, 6_001].map(nowMs => isFresh(lease, 6_000, nowMs))).toEqual([true, false]);
  expect([9_999, 10_000].map(nowMs => isFresh(lease, 60_000, nowMs))).toEqual([true, false]);
  expect([3_000, 3_001].map(nowMs => isOverdue(lease, 3_000, nowMs))).toEqual([false, true]);
  expect([9_999, 10_000].map(nowMs => isOverdue(lease, 60_000, nowMs))).toEqual([false, true]);
});

it('confirms, adopts or ends a lease as the line of the answer says, and ends one without a line', () => {
  const granted = grant();
  const { runner_id, client } = granted;
  const lease = leases().add(granted);
  expect(watchVerdict(lease, { state: 'unchanged', runner_id, client, remaining_ms: 5 })).toEqual({
    to: 'confirm',
    remainingMs: 5,
  });
  expect(watchVerdict(lease, { state: 'changed', runner_id, client, grant: granted })).toEqual({
    to: 'adopt',
    grant: granted,
  });
  const newer = { ...granted, epoch: 3 };
  expect(watchVerdict(lease, { state: 'changed', runner_id, client, grant: newer })).toEqual({ to: 'end' });
  expect(watchVerdict(lease, { state: 'ended', runner_id, client })).toEqual({ to: 'end' });
  expect(watchVerdict(lease, undefined)).toEqual({ to: 'end' });
});

it('watches each new lease at once, and the fifth with the next batch', async () => {
  const { asked, watch, add, clock } = heldWatches();
  const all = Array.from({ length: 5 }, () => add());
  for (const lease of all) watch.add(lease);
  expect(asked.map(({ request }) => request.leases.length)).toEqual([1, 1, 1, 1]);
  const [first] = all;
  if (!first) throw new Error('five were made');
  const { runner_id } = first.key;
  asked[0]?.answer([{ state: 'unchanged', runner_id, client: 'browser', remaining_ms: 1 }]);
  await eventually('the pause begins', () => clock.idleMs().length === 1);
  clock.advance(50);
  await eventually('the next batch', () => asked.length === 5);
  expect(asked[4]?.request.leases.map(lease => lease.runner_id)).toEqual([all[4]?.key.runner_id, runner_id]);
});

it('takes as many leases as its setting allows, and refuses one more by the setting', () => {
  const { table, add } = leases(3);
  const held = [add(), add(), add()];
  expect(table.grant('one more', grant(), 0)).toEqual({ refused: 'leases_full' });
  expect(REFUSALS.leases_full.sentence).toContain('OMICRON_EGRESS_LEASES_MAX');
  table.end(held[0] as EgressLease);
  add();
});

it('watches twelve thousand leases all at once, in batches that the controller takes', async () => {
  const { asked, watch, add, clock } = heldWatches(steppedClock(0.5), 12_000);
  const all = Array.from({ length: 12_000 }, () => add());
  for (const lease of all) watch.add(lease);
  const lines = (request: WatchRequest): WatchAnswer['leases'] =>
    request.leases.map(({ runner_id, client }) => ({ state: 'unchanged', runner_id, client, remaining_ms: 60_000 }));
  const first = asked.splice(0);
  for (const { request, answer } of first) answer(lines(request));
  await eventually('the pause begins', () => clock.idleMs().length === first.length);
  clock.advance(50);
  const watched = () => asked.flatMap(({ request }) => request.leases);
  await eventually('all are watched', () => watched().length === 12_000);
  expect(new Set(watched().map(lease => lease.runner_id)).size).toBe(12_000);
  for (const { request } of asked) expect(watchRequest.safeParse(request).success).toBe(true);
});

it('watches again some 500 to 1000 ms after a failure, and reports that it failed', async () => {
  const { asked, watch, add, clock, failures } = heldWatches();
  watch.add(add());
  asked[0]?.fail();
  await eventually('the wait begins', () => clock.idleMs().length === 1);
  expect(clock.idleMs()).toEqual([750]);
  expect(failures).toEqual([new Error('no answer')]);
  clock.advance(750);
  await eventually('the second watch', () => asked.length === 2);
});

it('ends a lease that a watch says has ended, and does not watch it again', async () => {
  const { table, asked, watch, add, clock } = heldWatches();
  const lease = add();
  watch.add(lease);
  asked[0]?.answer([{ state: 'ended', runner_id: lease.key.runner_id, client: 'browser' }]);
  await eventually('the lease has ended', () => lease.ended);
  expect(table.size).toBe(0);
  await eventually('the pause begins', () => clock.idleMs().length === 1);
  clock.advance(50);
  await watch.settled();
  expect(asked).toHaveLength(1);
});
