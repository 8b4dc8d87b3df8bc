import { PROBLEM_TYPE } from './problem.ts';
import { END_REASONS, type EndReason } from './session.ts';
import { refusalResult, type ToolFailure } from './tool-failure.ts';

/** Each completes "The lease has ended: ...". */
const WHY: Record<EndReason, string> = {
  released: 'the platform ended it',
  expired: 'nothing used the browser for its time to live',
  max_age: 'it reached its maximum age',
  evicted: 'another conversation of the user needed its place',
  archived: 'the platform archived the session',
  shutdown: 'the stack was stopped',
  runner_lost: 'its browser crashed or was removed',
  runner_start_failed: 'its browser did not start',
  sandbox_runtime_required: "the browser's machine has no sandbox",
  start_timed_out: 'its browser did not start in time',
};

/** As `WHY`: the lease is over, and the session goes on with its next one. */
const HIBERNATED =
  'nothing used the browser, or its place or machine was needed, and the session was hibernated. Its tabs are kept';

const isEndReason = (text: string | undefined): text is EndReason =>
  (END_REASONS as readonly (string | undefined)[]).includes(text);

function describeEnd(reason: string | null): string {
  const code = reason?.split(':')[0];
  if (code === 'hibernated') return `The lease has ended: ${HIBERNATED}, and come back with the session.`;
  const why = isEndReason(code) ? `: ${WHY[code]}` : '';
  return `The lease has ended${why}. Its tabs are closed.`;
}

const INSTEAD = 'Ask for the session again and connect to the new address; no other call gets through here.';

/**
 * The message for an agent, and for the engineer who reads its log. `reason`: a runner's, which begins with the EndReason
 * where there is one.
 */
export const whyLeaseEnded = (reason: string | null): string => `${describeEnd(reason)} ${INSTEAD}`;

/** The result of every call of a lease that has ended. */
export const leaseEndedResult = (reason: string | null): ToolFailure =>
  refusalResult({ code: 'lease_ended', why: describeEnd(reason), instead: INSTEAD });

/** Programs that know problem documents say so in `Accept`, and are answered 409 `lease_ended` in place of a tool's result. */
export const takesProblems = (accept: string | undefined): boolean => accept?.includes(PROBLEM_TYPE) === true;
