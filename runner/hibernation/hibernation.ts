import type { HibernateOrder, SessionSnapshot } from '../../contract/hibernation.ts';
import { OmicronError, type ProblemCode } from '../../contract/problem.ts';
import { RETRY, waitBackoff } from '../../time/backoff.ts';
import type { Clock } from '../../time/clock.ts';
import type { Freezer } from '../browser/freezer.ts';
import { worthRetrying } from '../reporting/controller-client.ts';

export interface HibernationOptions {
  readonly freezer: Pick<Freezer, 'use' | 'users' | 'usesBegun'>;
  /** Saves the profile, where the lease has one to save, and reads what else comes back. */
  readonly read: (signal: AbortSignal) => Promise<SessionSnapshot>;
  /** Keeps it and ends the lease, in one step; may be repeated. */
  readonly keep: (order: HibernateOrder, snapshot: SessionSnapshot, signal: AbortSignal) => Promise<void>;
  /** Called once the session is hibernated, or its lease turns out to be over. */
  readonly onOver: (reason: string) => void;
  readonly onFailed: (error: unknown) => void;
  readonly clock: Clock;
  /** Aborts with the runner's end. */
  readonly signal: AbortSignal;
}

/**
 * Gives the browser of a lease back while the session stays. Acts of an agent after the browser was read would be lost,
 * so a hibernation is given up for a call that begins meanwhile; and while the controller decides, calls wait for its
 * answer.
 */
export interface Hibernation {
  /** Throws `lease_in_use` where the lease goes on. A caller who asks while it is under way gets the same answer. */
  run(order: HibernateOrder): Promise<void>;
  /** Called by a call that has begun to use the browser: whether the session was hibernated instead, so that it is not carried out. */
  overtook(): Promise<boolean>;
}

const READ_MS = 10_000;
/** A runner whose machine goes away lets running calls end. */
const LAST_CALLS_MS = 2_000;
const POLL_MS = 50;
/** The lease is over, whatever became of this attempt. */
const OVER: readonly ProblemCode[] = ['lease_superseded', 'lease_ended', 'unauthorized', 'session_not_found'];

export function hibernation({ freezer, read, keep, onOver, onFailed, clock, signal }: HibernationOptions): Hibernation {
  let running: Promise<void> | undefined;
  let deciding: Promise<boolean> | undefined;
  let isOver = false;
  /** Uses that had begun when an attempt failed: without another one it would fail again. */
  let failedAt: { uses: number; error: unknown } | undefined;

  async function run(order: HibernateOrder): Promise<void> {
    if (failedAt !== undefined && failedAt.uses === freezer.usesBegun()) throw failedAt.error;
    const isLast = order.why === 'node';
    const unused = freezer.use();
    const { promise, resolve: decided } = Promise.withResolvers<boolean>();
    try {
      if (isLast) {
        deciding = promise; // what begins from here on is not carried out
        await untilUsedAlone();
      } else if (freezer.users() > 1) throw inUse();
      const uses = freezer.usesBegun();
      const snapshot = await read(AbortSignal.any([signal, AbortSignal.timeout(READ_MS)]));
      if (!isLast && freezer.usesBegun() !== uses) throw inUse();
      deciding = promise;
      await untilKept(order, snapshot);
      isOver = true;
      onOver('hibernated');
    } catch (error) {
      const code = error instanceof OmicronError ? error.code : undefined;
      isOver = code !== undefined && OVER.includes(code);
      if (isOver) onOver(`the controller ended the lease: ${code}`);
      else if (code !== 'lease_in_use') {
        failedAt = { uses: freezer.usesBegun(), error };
        onFailed(error);
      }
      throw error;
    } finally {
      decided(isOver);
      deciding = undefined;
      unused();
    }
  }

  async function untilUsedAlone(): Promise<void> {
    const lateMs = clock.nowMs() + LAST_CALLS_MS;
    while (freezer.users() > 1 && clock.nowMs() < lateMs) await clock.sleep(POLL_MS, signal);
  }

  /** An answer that is lost may have been yes: only an answer lets calls go on. */
  async function untilKept(order: HibernateOrder, snapshot: SessionSnapshot): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await keep(order, snapshot, signal);
      } catch (error) {
        if (signal.aborted || !worthRetrying(error)) throw error;
        await waitBackoff(attempt, { ...RETRY, maxMs: 2_000 }, signal, clock);
      }
    }
  }

  return {
    run(order) {
      running ??= run(order).finally(() => {
        running = undefined;
      });
      return running;
    },
    overtook: async () => (await deciding) ?? isOver,
  };
}

const inUse = () => new OmicronError('lease_in_use', 'The browser is in use; the lease goes on.');
