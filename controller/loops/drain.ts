import type { Logger } from 'pino';
import type { Clock } from '../../time/clock.ts';
import { drainToken, type Keys } from '../lease/assignment-tokens.ts';
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

export interface DrainParts {
  fleet: Fleet;
  provider: RunnerProvider;
  link: RunnerLink;
  keys: Keys;
  /** Drains at once; further rows wait for their turn. */
  atOnce: number;
  /** A drain has ended while others wait: rows may be taken. */
  onRoom: () => void;
  /** A runner of this session serves no agent any more; one of none, without it. */
  onUnserved: (sessionId: string | undefined) => void;
  onGone: (sessionId: string | undefined) => void;
  clock: Clock;
  log: Logger;
}

/**
 * Leads draining runners to their end: orders them to stop serving (a successor waits for that), has them removed once
 * their recording is sent, gives their permit back.
 */
export const drainLoop = (parts: DrainParts): RowWorker =>
  rowWorker({
    atOnce: parts.atOnce,
    onRoom: parts.onRoom,
    hold: null,
    take: most => parts.fleet.take(parts.provider.name, 'draining', most, WORK_SECONDS),
    work: (row, stopping) =>
      drain(parts, row, stopping).catch(err => {
        if (!stopping.aborted) parts.log.warn({ err, runner_id: row.id }, 'drain failed; retrying');
      }),
  });

async function drain(parts: DrainParts, row: RunnerRow, stopping: AbortSignal): Promise<void> {
  const { fleet, provider, onGone, clock, log } = parts;
  await acknowledge(parts, row);
  const giveUpMs = clock.nowMs() + GIVE_UP_MS;
  while ((await provider.remove(row.id)) === 'deleting') {
    if (clock.nowMs() > giveUpMs) return; // taken again when the hold on the row has passed
    await clock.sleep(POLL_MS, stopping);
  }
  await fleet.markGone(row.id);
  onGone(row.session_id ?? undefined);
  log.info({ runner_id: row.id, session_id: row.session_id, reason: row.reason }, 'runner gone');
}

/** Orders a runner to stop serving. One that does not answer is removed all the same. */
async function acknowledge({ fleet, link, keys, onUnserved, log }: DrainParts, row: RunnerRow): Promise<void> {
  if (!row.endpoint || !row.boot_id || row.acknowledged_at) return;
  try {
    const token = drainToken(keys, row.id, row.boot_id, row.reason ?? 'drained');
    await link.drain(row.endpoint, token, ACKNOWLEDGE_TIMEOUT_MS);
    await fleet.markAcknowledged(row.id);
    onUnserved(row.session_id ?? undefined);
  } catch (err) {
    // until it is gone or past its deadline no successor starts
    log.warn({ err, runner_id: row.id }, 'runner did not acknowledge its drain');
  }
}
