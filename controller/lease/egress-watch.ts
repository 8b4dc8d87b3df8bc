import type { WatchAnswer, WatchRequest } from '../../contract/egress.ts';
import type { Clock } from '../../time/clock.ts';
import type { HeldLease } from '../store/egress-leases.ts';
import { compareGrants, compareHeld, type EgressGrantParts, grantsOf } from './egress-grants.ts';
import { SharedLook } from './shared-look.ts';

/** Between two looks. The tunnels of an ended lease are closed within a second, however many proxies watch and leases end. */
export const EGRESS_LOOK_MS = 500;

/** Watches of the egress proxies at this replica: one look at all live leases serves all of them. */
export class EgressWatch {
  readonly #parts: EgressGrantParts;
  readonly #clock: Clock;
  readonly #looks: SharedLook<ReadonlyMap<string, HeldLease>>;

  constructor(parts: EgressGrantParts, clock: Clock) {
    this.#parts = parts;
    this.#clock = clock;
    const look = async () => new Map((await parts.egressLeases.held()).map(lease => [lease.runner_id, lease]));
    this.#looks = new SharedLook(look, EGRESS_LOOK_MS, clock);
  }

  /** Resolves with a line for each lease, in the order asked: when one has ended or has another version, else when `waitMs` are about to have passed. */
  async changes(asked: WatchRequest['leases'], waitMs: number): Promise<WatchAnswer['leases']> {
    const untilMs = this.#clock.nowMs() + waitMs;
    for (;;) {
      const held = await this.#looks.next();
      const lines = compareHeld(asked, held, this.#parts.uploads);
      const isOver = this.#clock.nowMs() + EGRESS_LOOK_MS >= untilMs;
      if (!isOver && lines.every(line => line?.state === 'unchanged')) continue;
      const changed = asked.filter((_known, place) => lines[place] === null);
      const grants = changed.length > 0 ? compareGrants(changed, await grantsOf(this.#parts, changed)) : [];
      return lines.flatMap(line => line ?? grants.shift() ?? []);
    }
  }
}
