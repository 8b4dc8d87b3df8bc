import { type Clock, neverAborts } from '../../time/clock.ts';
import type { RunnerProvider } from '../ports/runners.ts';
import type { Leases } from '../store/leases.ts';
import type { SessionHibernation } from './hibernation.ts';

export interface RoomParts {
  leases: Pick<Leases, 'yielding' | 'endReleased'>;
  /** Null: this deployment cannot hibernate sessions. */
  hibernation: Pick<SessionHibernation, 'evict'> | null;
  provider: Pick<RunnerProvider, 'name' | 'templateDigest'>;
  /** Called when a lease gave way: its runner is to be drained. */
  kickDrain: () => void;
  /** The database could not be read or written; the next look tries again. */
  onError: (error: unknown) => void;
  clock: Clock;
}

/** Leases of one replica that give way at once; others wait for the next look. */
const AT_ONCE = 32;
/** Callers that come together are served by one look. */
const GATHER_MS = 50;

/** Frees places for callers in the line: leases that their platforms have released give way, each asked by one replica. */
export class Room {
  readonly #parts: RoomParts;
  #due = false;
  #yielding = 0;

  constructor(parts: RoomParts) {
    this.#parts = parts;
  }

  /** Looks soon for leases that give way. */
  look(): void {
    if (this.#due) return;
    this.#due = true;
    void this.#choose().catch(this.#parts.onError);
  }

  async #choose(): Promise<void> {
    const { leases, provider, clock } = this.#parts;
    await clock.sleep(GATHER_MS, neverAborts(), true);
    this.#due = false;
    const most = AT_ONCE - this.#yielding;
    if (most <= 0) return;
    this.#yielding += most;
    const chosen = await leases
      .yielding(provider.name, await provider.templateDigest(), most)
      .finally(() => (this.#yielding -= most));
    this.#yielding += chosen.length;
    for (const lease of chosen)
      void this.#giveWay(lease)
        .catch(this.#parts.onError)
        .finally(() => {
          this.#yielding -= 1;
          if (chosen.length === most) this.look();
        });
  }

  async #giveWay({ id, hibernates }: { id: string; hibernates: boolean }): Promise<void> {
    const { leases, hibernation, kickDrain } = this.#parts;
    const gaveWay = (hibernates && (await hibernation?.evict(id))) || (await leases.endReleased(id));
    if (gaveWay) kickDrain();
  }
}
