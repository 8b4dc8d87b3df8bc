import type { Logger } from 'pino';
import { OmicronError } from '../../contract/problem.ts';
import type { RunnerProvider } from '../ports/runners.ts';
import type { Fleet } from '../store/fleet.ts';
import type { RunnerRow } from '../store/rows.ts';

/** Another replica takes a launch over whose worker fell silent. */
const WORK_SECONDS = 20;
const AT_ONCE = 8;

/** Turns intents into runners: creates what is not there, waits until it is warm, says so in its row. */
export class Launch {
  readonly #fleet: Fleet;
  readonly #provider: RunnerProvider;
  readonly #startMs: number;
  readonly #onFailure: () => void;
  readonly #onSuccess: () => void;
  readonly #log: Logger;
  readonly #launching = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(parts: {
    fleet: Fleet;
    provider: RunnerProvider;
    /** A runner that is not warm by then is given up. */
    startMs: number;
    onFailure: () => void;
    onSuccess: () => void;
    log: Logger;
  }) {
    this.#fleet = parts.fleet;
    this.#provider = parts.provider;
    this.#startMs = parts.startMs;
    this.#onFailure = parts.onFailure;
    this.#onSuccess = parts.onSuccess;
    this.#log = parts.log;
  }

  /** Takes what nobody launches and begins with it; does not wait until it is warm. */
  async runOnce(): Promise<void> {
    const free = AT_ONCE - this.#launching.size;
    if (free <= 0) return;
    for (const row of await this.#fleet.take(this.#provider.name, 'creating', free, WORK_SECONDS)) {
      if (this.#launching.has(row.id)) continue;
      this.#launching.set(
        row.id,
        this.#launch(row).finally(() => this.#launching.delete(row.id)),
      );
    }
  }

  /** Stops waiting; what was begun is taken up by whoever runs next. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#launching.values());
  }

  async #launch(row: RunnerRow): Promise<void> {
    const leftMs = row.created_at.getTime() + this.#startMs - Date.now();
    const deadline = AbortSignal.timeout(Math.max(1_000, Math.min(leftMs, this.#startMs)));
    try {
      await this.#provider.create(row.id);
      const { bootId, endpoint } = await this.#provider.whenWarm(
        row.id,
        AbortSignal.any([deadline, this.#stopping.signal]),
      );
      const state = await this.#fleet.markUp(row.id, bootId, endpoint);
      this.#onSuccess();
      this.#log.info({ runner_id: row.id, state, after_ms: Date.now() - row.created_at.getTime() }, 'a runner is up');
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      if (error instanceof OmicronError && error.code === 'store_unavailable') return; // its work lease passes on
      const reason =
        error instanceof OmicronError && error.code === 'sandbox_runtime_required'
          ? 'sandbox_runtime_required'
          : 'runner_start_failed';
      const why = error instanceof OmicronError ? ` ${error.message}` : '';
      const detail = deadline.aborted
        ? `The runner was not ready within ${this.#startMs / 1000} s.${why}`
        : error instanceof Error
          ? error.message
          : String(error);
      this.#log.error({ runner_id: row.id, reason, detail }, 'a runner did not start');
      this.#onFailure();
      await this.#fleet
        .markLost(row.id, 'not_started', reason, detail)
        .catch(err => this.#log.warn({ err, runner_id: row.id }, 'could not write down a failed start'));
    }
  }
}
