import { outsideSpans } from '../../process/tracing.ts';
import { type Clock, neverAborts } from '../../time/clock.ts';
import type { RunnerProvider } from '../ports/runners.ts';
import type { Leases } from '../store/leases.ts';
import type { Wake } from '../wake.ts';
import type { Room } from './make-room.ts';

export interface LineParts {
  leases: Pick<Leases, 'turns'>;
  room: Pick<Room, 'look'>;
  provider: Pick<RunnerProvider, 'name' | 'templateDigest'>;
  /** Kicked when a place came free in this process. */
  wake: Wake;
  /** The database could not be read; it is tried again. */
  onError: (error: unknown) => void;
  clock: Clock;
}

/** Between two looks for the places that came free at other replicas; within the time for which a look keeps its callers in the line. */
const LOOK_MS = 250;
/** Between two looks for leases that give way: some are released while callers wait. */
const ROOM_MS = 1_000;
/** Between two looks, however many places come free. */
const REST_MS = 20;

/** Callers of this replica that wait for a place. However many there are, one statement a look reads the line. */
export class WaitingLine {
  readonly #parts: LineParts;
  readonly #held = new Map<string, Set<() => void>>();
  #running = false;

  constructor(parts: LineParts) {
    this.#parts = parts;
  }

  /** A caller came to the line, or back to it: leases give way. */
  joined(): void {
    this.#parts.room.look();
  }

  /** Resolves when the caller at this place is to ask again, when `deadlineMs` (by the clock) has come or when `signal` aborts. */
  async turn(place: string, deadlineMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const called = new AbortController();
    const call = () => called.abort();
    const callers = this.#held.get(place) ?? new Set();
    callers.add(call);
    this.#held.set(place, callers);
    if (!this.#running) void outsideSpans(() => this.#run());
    const leftMs = Math.max(0, deadlineMs - clock.nowMs());
    await clock.sleep(leftMs, AbortSignal.any([called.signal, signal]), true).catch(() => {});
    callers.delete(call);
    if (callers.size === 0 && this.#held.get(place) === callers) this.#held.delete(place);
  }

  async #run(): Promise<void> {
    const { leases, provider, room, wake, onError, clock } = this.#parts;
    this.#running = true;
    let roomAtMs = clock.nowMs() + ROOM_MS;
    while (this.#held.size > 0) {
      const { kicks } = wake;
      if (clock.nowMs() >= roomAtMs) {
        room.look();
        roomAtMs = clock.nowMs() + ROOM_MS;
      }
      try {
        const places = [...this.#held.keys()];
        for (const place of await leases.turns(provider.name, await provider.templateDigest(), places))
          for (const call of this.#held.get(place) ?? []) call();
      } catch (error) {
        onError(error);
      }
      await clock.sleep(REST_MS, neverAborts(), true);
      await wake.wait(kicks, LOOK_MS, clock);
    }
    this.#running = false;
  }
}
