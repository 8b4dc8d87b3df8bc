import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import type { WatchRequest } from '../../../contract/egress.ts';
import { EGRESS_LOOK_MS, EgressWatch } from '../../../controller/lease/egress-watch.ts';
import type { HeldLease, LiveLease } from '../../../controller/store/egress-leases.ts';
import { eventually } from '../../eventually.ts';
import { steppedClock } from '../../fakes/clock.ts';

const lease = (change: Partial<HeldLease> = {}): HeldLease => ({
  session_id: randomUUID(),
  epoch: 1,
  runner_id: randomUUID(),
  policy_version: '0',
  lease_ms: 60_000,
  upload_ms: 86_400_000,
  ...change,
});
const known = (
  { session_id, epoch, runner_id }: HeldLease,
  change: Partial<WatchRequest['leases'][number]> = {},
): WatchRequest['leases'][number] => ({ session_id, epoch, runner_id, client: 'browser', version: '0', ...change });

/** A watch over these leases, and how often they were read. */
function watched(held: HeldLease[]) {
  const clock = steppedClock();
  const reads = { held: 0, live: [] as string[] };
  const withPolicy = ({ session_id, epoch, runner_id, policy_version }: HeldLease): LiveLease => ({
    lease: { session_id, epoch, runner_id },
    policy: { version: policy_version ?? '', layers: [] },
    remainingMs: 1,
  });
  const watch = new EgressWatch(
    {
      derivation: new Uint8Array(32),
      uploads: { version: 'u1', sites: {} },
      egressLeases: {
        async live(ids) {
          reads.live.push(...ids);
          return ids.map(id => held.filter(({ runner_id }) => runner_id === id).map(withPolicy)[0] ?? null);
        },
        awaitedUploads: () => Promise.reject(new Error('not asked here')),
        async held() {
          reads.held += 1;
          return structuredClone(held);
        },
        writeDenials: async () => {},
      },
    },
    clock,
  );
  const rests = () => eventually('a rest', () => clock.idleMs().length === 1);
  return { watch, clock, reads, rests };
}

it('serves all watches by one look, and answers those alone one of whose leases has ended', async () => {
  const held = Array.from({ length: 4 }, () => lease());
  const [one, two, three, four] = held as [HeldLease, HeldLease, HeldLease, HeldLease];
  const { watch, clock, reads, rests } = watched(held);
  const first = watch.changes([known(one), known(two)], 4_000);
  let isAnswered = false;
  const second = watch.changes([known(three), known(four)], 4_000).then(lines => {
    isAnswered = true;
    return lines;
  });
  await rests();
  expect(reads.held).toBe(1);
  held.splice(1, 1); // the second has ended
  clock.advance(EGRESS_LOOK_MS);
  expect(await first).toEqual([
    { state: 'unchanged', runner_id: one.runner_id, client: 'browser', remaining_ms: 60_000 },
    { state: 'ended', runner_id: two.runner_id, client: 'browser' },
  ]);
  expect(reads).toEqual({ held: 2, live: [] });
  for (let atMs = 2 * EGRESS_LOOK_MS; atMs < 4_000; atMs += EGRESS_LOOK_MS) {
    expect(isAnswered).toBe(false);
    await rests();
    clock.advance(EGRESS_LOOK_MS);
  }
  expect((await second).map(({ state }) => state)).toEqual(['unchanged', 'unchanged']);
  expect(reads.held).toBe(4_000 / EGRESS_LOOK_MS);
});

it('reads the rules of those that have another version, and of no others', async () => {
  const [same, other, uploader] = [lease(), lease({ policy_version: 'u7' }), lease()];
  const { watch, reads } = watched([same, other, uploader]);
  const asked = [known(same), known(other), known(uploader, { client: 'uploader', version: 'u1' })];
  expect(await watch.changes(asked, 4_000)).toMatchObject([
    { state: 'unchanged' },
    { state: 'changed', grant: { runner_id: other.runner_id, version: 'u7', layers: [] } },
    { state: 'unchanged', client: 'uploader', remaining_ms: 86_400_000 },
  ]);
  expect(reads.live).toEqual([other.runner_id]);
});

it('keeps an uploader after its browser’s lease, and ends both of a runner that is gone', async () => {
  const draining = lease({ policy_version: null, lease_ms: null, upload_ms: 5_000 });
  const gone = lease();
  const { watch } = watched([draining]);
  const asked = [draining, gone].flatMap(each => [known(each), known(each, { client: 'uploader', version: 'u1' })]);
  const lines = await watch.changes(asked, 0);
  expect(lines.map(({ state }) => state)).toEqual(['ended', 'unchanged', 'ended', 'ended']);
});
