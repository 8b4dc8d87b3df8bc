import type { Logger } from 'pino';
import { OmicronError } from '../../contract/problem.ts';
import { type Clock, timeoutSignal } from '../../time/clock.ts';
import type { RunnerProvider } from '../ports/runners.ts';
import type { LaunchFault, LaunchPart } from '../runner-metrics.ts';
import type { Fleet, TakenRow } from '../store/fleet.ts';
import { type RowWorker, rowWorker } from './row-worker.ts';

/** Another replica takes over a launch whose worker is silent for this long. */
const WORK_SECONDS = 20;
/** A worker whose launches take longer holds them for as long again, this often. */
const KEEP_MS = 5_000;

export interface LaunchParts {
  fleet: Fleet;
  provider: RunnerProvider;
  /** Launches at once; further rows wait for their turn. */
  atOnce: number;
  /** A runner that is not warm this long after its launch is given up. */
  startMs: number;
  /** A launch has ended while others wait: rows may be taken. */
  onRoom: () => void;
  /** A launch was this long in one of its parts, and ended there where it has a fault. */
  onPart: (part: LaunchPart, seconds: number, fault: LaunchFault | null) => void;
  onFailure: () => void;
  onSuccess: () => void;
  clock: Clock;
  log: Logger;
}

/** Turns intents into runners: creates what is missing, waits until it is warm, writes that to its row. */
export const launchLoop = (parts: LaunchParts): RowWorker<TakenRow> =>
  rowWorker({
    atOnce: parts.atOnce,
    onRoom: parts.onRoom,
    hold: { everyMs: KEEP_MS, keep: ids => parts.fleet.keep(ids, WORK_SECONDS), clock: parts.clock },
    take: most => parts.fleet.take(parts.provider.name, 'creating', most, WORK_SECONDS),
    work: (row, stopping) => launch(parts, row, stopping),
  });

async function launch(parts: LaunchParts, row: TakenRow, stopping: AbortSignal): Promise<void> {
  const { fleet, provider, startMs, onPart, onFailure, onSuccess, clock, log } = parts;
  const launchedMs = clock.nowMs() - row.launchedForMs;
  const deadline = timeoutSignal(Math.max(1_000, startMs - row.launchedForMs), clock);
  let part: LaunchPart = 'create';
  let beganMs = clock.nowMs();
  const endPart = (fault: LaunchFault | null) => onPart(part, (clock.nowMs() - beganMs) / 1_000, fault);
  const next = (name: LaunchPart) => {
    endPart(null);
    part = name;
    beganMs = clock.nowMs();
  };
  try {
    const either = AbortSignal.any([deadline, stopping]);
    await provider.create(row.id, either);
    next('warm');
    const { bootId, endpoint } = await provider.whenWarm(row.id, either);
    next('record');
    const state = await fleet.markUp(row.id, bootId, endpoint);
    endPart(null);
    onSuccess();
    log.info({ runner_id: row.id, state, after_ms: clock.nowMs() - launchedMs }, 'runner up');
  } catch (error) {
    if (stopping.aborted) return;
    if (error instanceof OmicronError && error.code === 'store_unavailable') return; // another worker takes it up
    const { reason, detail } = startFailure(error, deadline.aborted ? startMs / 1000 : null);
    log.error({ runner_id: row.id, provider: provider.name, reason, detail }, 'runner start failed');
    endPart(deadline.aborted ? 'timeout' : reason === 'sandbox_runtime_required' ? 'sandbox' : 'failed');
    onFailure();
    await fleet
      .markLost(row.id, 'not_started', reason, detail)
      .catch(err => log.warn({ err, runner_id: row.id }, 'failed start not recorded'));
  }
}

/** Text of the row about a start that failed. `overSeconds`: the deadline that it ran into, if it did. */
function startFailure(error: unknown, overSeconds: number | null) {
  const known = error instanceof OmicronError;
  const reason =
    known && error.code === 'sandbox_runtime_required'
      ? ('sandbox_runtime_required' as const)
      : ('runner_start_failed' as const);
  if (overSeconds !== null)
    return { reason, detail: `The runner was not ready within ${overSeconds} s.${known ? ` ${error.message}` : ''}` };
  return { reason, detail: error instanceof Error ? error.message : String(error) };
}
