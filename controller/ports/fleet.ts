import type { EndReason } from '../../contract/session.ts';
import type { RunnerRow } from './rows.ts';

/** Rows of runners: intent before effect, forward only. Safe on several replicas at once. */
export interface Fleet {
  /** Writes intents until `idle` unleased runners of this template exist, at most `burst`; drains the others. Answers how many it wrote. */
  plan(provider: string, template: string, idle: number, burst: number): Promise<number>;
  /** Rows to launch or drain that nobody works at; they are this worker's for `workSeconds`. */
  take(provider: string, state: 'creating' | 'draining', most: number, workSeconds: number): Promise<RunnerRow[]>;
  /** Null: nobody wants it any more; it must be removed. */
  up(runnerId: string, bootId: string, endpoint: string): Promise<'warm' | 'claimed' | null>;
  /**
   * `ended`: its process is known to have ended. `leaving`: it is on its way out and may still act. `not_started`: its
   * launch was given up; does nothing once it came up. Its lease, if it lives, becomes an error; `expired`: its time was
   * over, and it ended.
   */
  lost(
    runnerId: string,
    how: 'ended' | 'leaving' | 'not_started',
    reason: EndReason,
    error: string,
  ): Promise<'lost' | 'expired' | 'nothing'>;
  acknowledged(runnerId: string): Promise<void>;
  /** Frees the permit; a recorded lease without a recording gets a recorded loss. */
  gone(runnerId: string): Promise<void>;
  /** Rows that are not gone; read after the provider's list, or fresh runners look like orphans. */
  living(provider: string): Promise<RunnerRow[]>;
}
