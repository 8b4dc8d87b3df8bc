import { OmicronError, type ProblemCode } from '../../contract/problem.ts';
import { ACTIVITY_REPORT_SECONDS, ACTIVITY_URGENT_SECONDS } from '../../contract/reports.ts';
import { outsideSpans } from '../../process/tracing.ts';
import { alarm } from '../../time/alarm.ts';
import { RETRY, waitBackoff } from '../../time/backoff.ts';
import type { Clock } from '../../time/clock.ts';
import type { ControllerClient } from './controller-client.ts';

/**
 * The runner's own end: a runner that is cut off from its controller closes by itself, so that no old lease is served
 * beside a new one (hole 1 of the lease protocol). Time is monotonic; every answer of the controller moves the end.
 */
export interface LeaseClock {
  isOver(): boolean;
  /** Marks a call; the returned function marks its end. Running calls count as activity. */
  callStarted(): () => void;
  /** Ends the reports; the deadline stands. */
  stop(): void;
}

export interface LeaseClockOptions {
  readonly controller: Pick<ControllerClient, 'activity'>;
  readonly leaseToken: string;
  /** End of the lease by `clock`, as the redemption answered. */
  readonly endsAtMs: number;
  readonly clock: Clock;
  /** Called once: the deadline has passed, or the controller says that the lease is over. */
  readonly onEnd: (reason: string) => void;
  /** Called with each answer: the policy in force may be another one now. */
  readonly onPolicyVersion: (version: string) => void;
  readonly debug: (message: string, details: Record<string, unknown>) => void;
}

/** The runner closes this much before the lease's end by the database, so that both clocks may drift. */
const MARGIN_MS = 500;
const REPORT_MS = ACTIVITY_REPORT_SECONDS * 1_000;
const URGENT_MS = ACTIVITY_URGENT_SECONDS * 1_000;
/** "At once" under 30 s left, but never faster than this. */
const REPORT_MIN_MS = 500;

const OVER: readonly ProblemCode[] = [
  'unauthorized',
  'forbidden',
  'session_not_found',
  'lease_superseded',
  'lease_ended',
];

/** When the next report is due, by the clock of `now`. */
export function nextReportMs(state: { now: number; sentMs: number; deadlineMs: number; calls: number }): number {
  const { now, sentMs, deadlineMs, calls } = state;
  const leftMs = deadlineMs - now;
  const soonest = sentMs + REPORT_MIN_MS;
  // A heartbeat of the API may have renewed the lease: ask once more when 30 s are left, and again while it gets
  // short.
  if (leftMs > URGENT_MS) return Math.min(sentMs + REPORT_MS, Math.max(soonest, deadlineMs - URGENT_MS));
  return calls > 0 ? soonest : Math.max(soonest, sentMs + Math.min(REPORT_MS, leftMs / 2));
}

/** Starts the clock. */
export function leaseClock(options: LeaseClockOptions): LeaseClock {
  const { controller, leaseToken, endsAtMs, clock, onEnd, onPolicyVersion, debug } = options;
  const abort = new AbortController();
  let deadlineMs = endsAtMs - MARGIN_MS;
  let sentMs = clock.nowMs();
  let finished = 0;
  let running = 0;
  let reporting = false;
  let over = false;
  const deadline = alarm(clock, () => end('the lease has expired'));
  const nextReport = alarm(clock, () => void outsideSpans(report));

  const end = (reason: string) => {
    if (abort.signal.aborted) return;
    over = true;
    stop();
    onEnd(reason);
  };

  const stop = () => {
    abort.abort();
    deadline.clear();
    nextReport.clear();
  };

  function scheduleReport(): void {
    if (reporting || abort.signal.aborted) {
      nextReport.clear();
      return;
    }
    nextReport.setAt(nextReportMs({ now: clock.nowMs(), sentMs, deadlineMs, calls: finished + running }));
  }

  async function report(): Promise<void> {
    reporting = true;
    for (let attempt = 0; !abort.signal.aborted; attempt += 1) {
      sentMs = clock.nowMs();
      const reported = finished;
      try {
        const calls = reported + running;
        const { remainingMs, policyVersion } = await controller.activity(leaseToken, calls, abort.signal);
        finished -= reported;
        deadlineMs = sentMs + remainingMs - MARGIN_MS;
        if (!abort.signal.aborted) deadline.setAt(deadlineMs);
        onPolicyVersion(policyVersion);
        break;
      } catch (error) {
        if (error instanceof OmicronError && OVER.includes(error.code)) {
          end(`the controller ended the lease: ${error.message}`);
          break;
        }
        debug('activity report failed; retrying', { error });
        await waitBackoff(attempt, { ...RETRY, maxMs: 2_000 }, abort.signal, clock).catch(() => undefined);
      }
    }
    reporting = false;
    scheduleReport();
  }

  deadline.setAt(deadlineMs);
  scheduleReport();
  return {
    isOver: () => over || clock.nowMs() >= deadlineMs,
    callStarted() {
      running += 1;
      scheduleReport();
      return () => {
        running -= 1;
        finished += 1;
        scheduleReport();
      };
    },
    stop,
  };
}
