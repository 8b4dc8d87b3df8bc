import type { Logger } from 'pino';
import { type Clock, neverAborts } from '../../../time/clock.ts';
import type { Death } from '../../ports/runners.ts';
import { type AnswerWatch, type AnswerWatchOptions, answerWatch } from './answer-watch.ts';
import type { RunnerFolder } from './folder.ts';
import { type MemoryLimit, memoryLimit } from './memory-limit.ts';
import { isRunning, killAll, type ProcessId, signal } from './process.ts';

/** A drained runner finishes its video in a second or two. */
const KILL_AFTER_MS = 15_000;
/** Within which this process learns how its runner ended, and a new runner's process file is written. */
const SETTLE_MS = 200;

interface RunnerProcessesOptions extends Pick<AnswerWatchOptions, 'answers'> {
  readonly clock: Clock;
  readonly log: Logger;
  /** Memory that all processes of one runner may take together. */
  readonly memoryBytesMax: number;
  /** Called when a runner was killed. */
  readonly onChange: (runnerId: string) => void;
}

/** The processes of runners as one controller knows them. */
export class RunnerProcesses {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #ids = new Map<string, ProcessId>();
  readonly #memory: MemoryLimit;
  readonly #answers: AnswerWatch;
  /** How those that this process started, or killed, have ended. */
  readonly #exits = new Map<string, string>();
  readonly #terminatedAtMs = new Map<string, number>();

  constructor({ clock, log, memoryBytesMax, answers, onChange }: RunnerProcessesOptions) {
    this.#clock = clock;
    this.#log = log;
    this.#memory = memoryLimit({
      bytesMax: memoryBytesMax,
      clock,
      onExceeded: (runnerId, why, pids) => {
        log.warn({ runner_id: runnerId, why }, 'runner takes too much memory; killing it');
        this.exited(runnerId, why);
        killAll(pids);
        onChange(runnerId);
      },
    });
    this.#answers = answerWatch({
      answers,
      clock,
      onSilent: (runnerId, why) => {
        const id = this.#ids.get(runnerId);
        if (id === undefined || !isRunning(id)) return;
        log.warn({ runner_id: runnerId, why }, 'runner does not answer; killing it');
        this.exited(runnerId, why);
        signal(id, 'SIGKILL');
        onChange(runnerId);
      },
    });
  }

  started(runnerId: string, id: ProcessId): void {
    this.#ids.set(runnerId, id);
    this.#memory.watch(runnerId, id);
    this.#answers.watch(runnerId);
  }

  /** The first reason stays: a signal says less than why it was sent. */
  exited(runnerId: string, how: string): void {
    if (!this.#exits.has(runnerId)) this.#exits.set(runnerId, how);
  }

  /** Null: it runs. */
  async deathOf(runnerId: string, home: RunnerFolder): Promise<Death | null> {
    if (await this.#running(runnerId, home)) return null;
    if (home.exists && !this.#exits.has(runnerId)) {
      await this.#clock.sleep(SETTLE_MS, neverAborts());
      if (await this.#running(runnerId, home)) return null;
    }
    const how = this.#exits.get(runnerId) ?? 'cause unknown';
    return { ended: true, reason: `The runner's process ended (${how}). Request a new lease.` };
  }

  /** Asks it to end, and ends it when it takes too long. True: it has ended. */
  async end(runnerId: string, home: RunnerFolder): Promise<boolean> {
    const id = await this.#running(runnerId, home);
    if (!id) return true;
    const sinceMs = this.#terminatedAtMs.get(runnerId);
    if (sinceMs === undefined) {
      this.#terminatedAtMs.set(runnerId, this.#clock.nowMs());
      signal(id, 'SIGTERM');
    } else if (this.#clock.nowMs() - sinceMs > KILL_AFTER_MS) {
      this.#log.warn({ runner_id: runnerId }, 'runner did not stop; killing it');
      signal(id, 'SIGKILL');
    }
    return false;
  }

  forget(runnerId: string): void {
    this.#memory.forget(runnerId);
    this.#answers.forget(runnerId);
    for (const known of [this.#ids, this.#exits, this.#terminatedAtMs]) known.delete(runnerId);
  }

  /** Null: it does not run. */
  async #running(runnerId: string, home: RunnerFolder): Promise<ProcessId | null> {
    const id = this.#ids.get(runnerId) ?? (await home.readProcess());
    if (!id) return null;
    this.started(runnerId, id);
    return isRunning(id) ? id : null;
  }
}
