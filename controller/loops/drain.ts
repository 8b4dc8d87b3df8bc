import type { Logger } from 'pino';
import type { Clock } from '../../time/clock.ts';
import { drainToken, type Keys } from '../lease/assignment-tokens.ts';
import type { Waits } from '../lease/waits.ts';
import type { RunnerLink } from '../ports/runner-link.ts';
import type { RunnerProvider } from '../ports/runners.ts';
import type { Fleet } from '../store/fleet.ts';
import type { RunnerRow } from '../store/rows.ts';
import { type RowWorker, rowWorker } from './row-worker.ts';

const WORK_SECONDS = 30;
/** Before its hold on the row passes to another replica. */
const GIVE_UP_MS = WORK_SECONDS * 900;
const ACKNOWLEDGE_TIMEOUT_MS = 3_000;
const POLL_MS = 200;
const RETRY_MS = 1_000;

export interface DrainParts {
  fleet: Fleet;
  provider: RunnerProvider;
  link: RunnerLink;
  keys: Keys;
  /** Drains at once; further rows wait for their turn. */
  atOnce: number;
  /** A drain has ended while others wait: rows may be taken. */
  onRoom: () => void;
  /** Requests that wait for the end of a lease. */
  waits: Pick<Waits, 'changed' | 'markUnserved'>;
  onGone: () => void;
  clock: Clock;
  log: Logger;
}

/** Drains that a request leads: it ended the lease, and need not wait for the loop to look. */
export interface Drains {
  /** For how long an end is to hold the row of its runner; null: the loop is to take it. */
  seconds(): number | null;
  /** Drains a runner whose row is held. */
  lead(runner: RunnerRow): void;
}

/**
 * Leads draining runners to their end: orders them to stop serving (a successor waits for that), has them removed once
 * their recording is sent, gives their permit back.
 */
export function drainLoop(parts: DrainParts): Pick<RowWorker<RunnerRow>, 'runOnce' | 'stop'> & Drains {
  const { fleet, provider } = parts;
  const worker = rowWorker<RunnerRow>({
    atOnce: parts.atOnce,
    onRoom: parts.onRoom,
    hold: null,
    take: most => fleet.take(provider.name, 'draining', most, WORK_SECONDS),
    work: (row, stopping) =>
      drain(parts, row, stopping).catch(err => {
        if (!stopping.aborted) parts.log.warn({ err, runner_id: row.id }, 'drain failed; retrying');
      }),
  });
  return {
    runOnce: worker.runOnce,
    stop: worker.stop,
    seconds: () => (worker.hasRoom() ? WORK_SECONDS : null),
    lead: worker.begin,
  };
}

async function drain(parts: DrainParts, row: RunnerRow, stopping: AbortSignal): Promise<void> {
  const { fleet, provider, waits, onGone, clock, log } = parts;
  const hasAcknowledged = await acknowledge(parts, row);
  const giveUpMs = clock.nowMs() + GIVE_UP_MS;
  for (;;) {
    const removed = await provider.remove(row.id).catch(err => {
      log.warn({ err, runner_id: row.id }, 'runner not removed; retrying');
      return 'failed' as const;
    });
    if (removed === 'gone') break;
    if (clock.nowMs() > giveUpMs) return; // taken again when the hold on the row has passed
    await clock.sleep(removed === 'failed' ? RETRY_MS : POLL_MS, stopping);
  }
  await fleet.markGone(row.id);
  if (!hasAcknowledged && row.session_id !== null) waits.changed(row.session_id);
  onGone();
  log.info({ runner_id: row.id, session_id: row.session_id, reason: row.reason }, 'runner gone');
}

/** Orders a runner to stop serving. One that does not answer is removed all the same. Whether it has acknowledged. */
async function acknowledge({ fleet, link, keys, waits, log }: DrainParts, row: RunnerRow): Promise<boolean> {
  const { session_id, epoch } = row;
  if (row.acknowledged_at) return true;
  if (!row.endpoint || !row.boot_id) return false;
  try {
    const token = drainToken(keys, row.id, row.boot_id, row.reason ?? 'drained');
    await link.drain(row.endpoint, token, ACKNOWLEDGE_TIMEOUT_MS);
    const isUnserved = await fleet.markAcknowledged(row.id);
    if (session_id !== null && epoch !== null && isUnserved) waits.markUnserved(session_id, epoch);
    if (session_id !== null) waits.changed(session_id);
    return true;
  } catch (err) {
    // until it is gone or past its deadline no successor starts
    log.warn({ err, runner_id: row.id }, 'runner did not acknowledge its drain');
    return false;
  }
}
