import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { drainToken, type Keys } from '../lease/orders.ts';
import type { RunnerLink } from '../ports/runner-link.ts';
import type { RunnerProvider } from '../ports/runners.ts';
import type { Fleet } from '../store/fleet.ts';
import type { RunnerRow } from '../store/rows.ts';

const WORK_SECONDS = 30;
const ACKNOWLEDGE_TIMEOUT_MS = 3_000;
const LOOK_AGAIN_MS = 200;
const AT_ONCE = 32;

/**
 * Leads draining runners to their end: tells them to stop serving (a successor waits for that), has them removed once
 * their recording is sent, gives their permit back.
 */
export class Drain {
  readonly #fleet: Fleet;
  readonly #provider: RunnerProvider;
  readonly #link: RunnerLink;
  readonly #keys: Keys;
  readonly #onGone: () => void;
  readonly #log: Logger;
  readonly #draining = new Map<string, Promise<void>>();
  #stopping = false;

  constructor(parts: {
    fleet: Fleet;
    provider: RunnerProvider;
    link: RunnerLink;
    keys: Keys;
    onGone: () => void;
    log: Logger;
  }) {
    this.#fleet = parts.fleet;
    this.#provider = parts.provider;
    this.#link = parts.link;
    this.#keys = parts.keys;
    this.#onGone = parts.onGone;
    this.#log = parts.log;
  }

  /** Takes what nobody drains and begins with it. */
  async runOnce(): Promise<void> {
    const free = AT_ONCE - this.#draining.size;
    if (free <= 0) return;
    for (const row of await this.#fleet.take(this.#provider.name, 'draining', free, WORK_SECONDS)) {
      if (this.#draining.has(row.id)) continue;
      this.#draining.set(
        row.id,
        this.#drain(row)
          .catch(err => this.#log.warn({ err, runner_id: row.id }, 'a drain failed; it is tried again'))
          .finally(() => this.#draining.delete(row.id)),
      );
    }
  }

  /** Resolves when nothing that this process began is under way; with `now`, at the next look. */
  async stop(now = true): Promise<void> {
    this.#stopping = now;
    await Promise.all(this.#draining.values());
  }

  async #drain(row: RunnerRow): Promise<void> {
    if (row.endpoint && row.boot_id && !row.acknowledged_at) {
      try {
        const token = await drainToken(this.#keys, row.id, row.boot_id, row.reason ?? 'drained');
        await this.#link.drain(row.endpoint, token, ACKNOWLEDGE_TIMEOUT_MS);
        await this.#fleet.markAcknowledged(row.id);
      } catch (err) {
        // removal below is what ends it then; until it is gone or past its deadline no successor starts
        this.#log.warn({ err, runner_id: row.id }, 'a runner did not acknowledge its drain');
      }
    }
    const giveUpMs = performance.now() + WORK_SECONDS * 900;
    while ((await this.#provider.remove(row.id)) === 'deleting') {
      if (this.#stopping || performance.now() > giveUpMs) return; // taken up again when the work lease has passed
      await sleep(LOOK_AGAIN_MS);
    }
    await this.#fleet.markGone(row.id);
    this.#onGone();
    this.#log.info({ runner_id: row.id, session_id: row.session_id, reason: row.reason }, 'a runner is gone');
  }
}
