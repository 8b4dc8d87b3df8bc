import { Counter, Histogram, type Registry } from '@prometheus-io/client';
import type { API_PROBLEMS } from '../contract/problem.ts';

/**
 * Parts of an acquire that starts a lease, in their order: the wait in the line; the database's claim, with the leases that give way;
 * the wait for a runner that is not up yet; the way of the assignment to its runner and of the runner to its redemption; the step that
 * makes the lease ready.
 */
export const ACQUIRE_PARTS = ['line', 'claim', 'runner', 'assign', 'ready'] as const;
export type AcquirePart = (typeof ACQUIRE_PARTS)[number];

/** `warm`: on a runner that was up; `cold`: on one that had to be launched; `restored`: with the browser of a hibernated session. */
export const LEASE_STARTS = ['warm', 'cold', 'restored'] as const;
export type LeaseStart = (typeof LEASE_STARTS)[number];

/** Codes that deny a browser to a caller entitled to one. Quotas and bad requests are the caller's. */
export const FAILED_CODES = [
  'internal_error',
  'runner_start_failed',
  'sandbox_runtime_required',
  'browser_crashed',
  'store_unavailable',
  'secrets_unavailable',
  'profile_unavailable',
  'predecessor_draining',
  'capacity_exceeded',
] as const satisfies (keyof typeof API_PROBLEMS)[];
/** The caller's refusals that have a series of their own; others are `other`. */
const REFUSALS = [
  'user_quota_exceeded',
  'profile_in_use',
  'profile_mismatch',
  'profile_quota_exceeded',
  'credentials_not_configured',
  'lease_ended',
] as const satisfies (keyof typeof API_PROBLEMS)[];
/** Values of the label `code`. */
export const REFUSED_CODES = [...FAILED_CODES, ...REFUSALS, 'other'] as const;

export interface AcquireMetrics {
  /** Seconds from a get-or-create's arrival to its answer, by outcome: a status, a problem's code, or `failed` for an error without one. */
  acquired(seconds: number, outcome: string): void;
  /** A caller waited for a place: it got one, was refused when its time was over, or hung up. */
  waited(seconds: number, outcome: 'place' | 'refused' | 'left'): void;
  acquirePart(part: AcquirePart, seconds: number): void;
  /** A lease became ready this long after its claim began. */
  leaseStarted(start: LeaseStart, seconds: number): void;
  /** The first page that a call of a lease opened was loaded, this long after the call had come. */
  firstPage(seconds: number): void;
}

const isOneOf = <T extends string>(values: readonly T[], value: string): value is T =>
  (values as readonly string[]).includes(value);

/** The series of what callers wait for. */
export function acquireMetrics(registry: Registry): AcquireMetrics {
  const registers = [registry];
  const created = new Histogram({
    name: 'omicron_session_create_latency_seconds',
    help: 'From a get-or-create to its answer, renewals included',
    // `ready`, `starting`; `refused`: as it should be, for a quota or a request; `failed`: a browser that its caller was entitled to
    labelNames: ['outcome'],
    // From a warm claim (milliseconds) to the stuck-starting guard (two minutes).
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30, 120],
    registers,
  });
  const refusals = new Counter({
    name: 'omicron_session_create_refusals_total',
    help: 'Get-or-creates that were answered with a problem, by its code; `other` is every code without a series of its own',
    labelNames: ['code'],
    registers,
  });
  for (const code of REFUSED_CODES) refusals.inc({ code }, 0);
  const waits = new Histogram({
    name: 'omicron_wait_seconds',
    help: 'For how long callers waited where every place was taken: until they got one, were refused, or left',
    labelNames: ['outcome'],
    buckets: [1, 2.5, 5, 10, 20, 60],
    registers,
  });
  const parts = new Histogram({
    name: 'omicron_acquire_part_seconds',
    help: 'Time in each part of an acquire that started a lease: line, claim, runner, assign, ready',
    labelNames: ['part'],
    buckets: [0.01, 0.1, 1, 10],
    registers,
  });
  const starts = new Histogram({
    name: 'omicron_lease_start_seconds',
    help: 'From the claim to the ready lease, without the line: on a warm runner, on one that was launched, or with a restored session',
    labelNames: ['start'],
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30],
    registers,
  });
  const pages = new Histogram({
    name: 'omicron_first_page_seconds',
    help: 'From the call that opened the first page of a lease until that page was loaded, as its runner reports it',
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  return {
    acquired(seconds, outcome) {
      if (outcome === 'ready' || outcome === 'starting') return created.observe({ outcome }, seconds);
      created.observe(
        { outcome: outcome === 'failed' || isOneOf(FAILED_CODES, outcome) ? 'failed' : 'refused' },
        seconds,
      );
      const code = outcome === 'failed' ? 'internal_error' : outcome;
      refusals.inc({ code: isOneOf(REFUSED_CODES, code) ? code : 'other' });
    },
    waited(seconds, outcome) {
      waits.observe({ outcome }, seconds);
      if (outcome === 'place') parts.observe({ part: 'line' }, seconds);
    },
    acquirePart: (part, seconds) => parts.observe({ part }, seconds),
    leaseStarted: (start, seconds) => starts.observe({ start }, seconds),
    firstPage: seconds => pages.observe(seconds),
  };
}
