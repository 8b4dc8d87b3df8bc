import type { Logger } from 'pino';
import type { HibernationReason } from '../../contract/hibernation.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { Clock } from '../../time/clock.ts';
import type { RunnerLink } from '../ports/runner-link.ts';
import type { Directory } from '../store/directory.ts';
import type { Hibernations } from '../store/hibernations.ts';
import { hibernateToken, type Keys } from './assignment-tokens.ts';
import { liveRunner } from './live-runner.ts';

export interface HibernationParts {
  directory: Directory;
  hibernations: Pick<Hibernations, 'expiring'>;
  link: RunnerLink;
  keys: Keys;
  /** Name of the provider whose runners are asked. */
  provider: string;
  /** A session was hibernated, this long after its runner was asked. */
  onHibernated: (seconds: number) => void;
  clock: Clock;
  log: Logger;
}

/** A runner reads its browser, and the controller encrypts and stores what it brings. */
const HIBERNATE_MS = 20_000;
/** Sessions that one round hibernates, `AT_A_TIME` of them at once. */
const BATCH = 40;
const AT_A_TIME = 4;
/** Another replica may choose them after this time (`expiring_leases`). */
const CHOSEN_MS = 20_000;

/** Asks runners to hibernate sessions, of leases that ask for it. */
export class SessionHibernation {
  readonly #parts: HibernationParts;

  constructor(parts: HibernationParts) {
    this.#parts = parts;
  }

  /** One round: sessions whose lease is about to expire, and that no other replica asks. Never rejects for one of them. */
  async hibernateExpiring(): Promise<void> {
    const { hibernations, provider } = this.#parts;
    const chosenMs = performance.now();
    const expiring = await hibernations.expiring(provider, BATCH);
    const next = async (): Promise<void> => {
      for (let each = expiring.shift(); each && performance.now() < chosenMs + CHOSEN_MS; each = expiring.shift())
        await this.#ask(each.id, 'idle', each.idleSeconds);
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, next));
  }

  /** Hibernates a session whose place is needed, however recently it was used; false: it is in use, or cannot be hibernated. */
  evict(sessionId: string): Promise<boolean> {
    return this.#ask(sessionId, 'capacity', 0);
  }

  async #ask(sessionId: string, why: HibernationReason, idleSeconds: number): Promise<boolean> {
    const { directory, link, keys, onHibernated, clock, log } = this.#parts;
    try {
      const { runnerId, bootId, endpoint } = await liveRunner(directory, sessionId, null);
      const order = { why, idle_seconds: idleSeconds };
      const askedMs = clock.nowMs();
      await link.hibernate(endpoint, hibernateToken(keys, runnerId, bootId, order), HIBERNATE_MS);
      onHibernated((clock.nowMs() - askedMs) / 1_000);
      return true;
    } catch (err) {
      const isUsed = err instanceof OmicronError && (err.code === 'lease_in_use' || err.code === 'lease_ended');
      log[isUsed ? 'debug' : 'warn']({ err, session_id: sessionId, why }, 'session not hibernated');
      return false;
    }
  }
}
