import { OmicronError } from '../../contract/problem.ts';
import { neverAborts } from '../../time/clock.ts';
import { type Waits, waitKey } from './waits.ts';

export interface EndingParts {
  waits: Waits;
}

/** A runner that serves acknowledges its drain in milliseconds; one that does not is removed. */
const ENDING_MS = 10_000;

/**
 * Waits until no runner answers an agent of the ended epoch. Throws `predecessor_draining` when one still may: the lease
 * has ended, but that is not yet known to its runner. `served`: whether one may, as far as the caller knows already.
 */
export async function untilUnserved(
  { waits }: EndingParts,
  sessionId: string,
  epoch: number,
  served?: boolean,
): Promise<void> {
  if (served === false) return;
  const signal = neverAborts();
  if (await waits.unserved.within(ENDING_MS, waitKey(sessionId, epoch), { signal, hasLooked: served === true })) return;
  const detail =
    'The lease has ended, but its runner has not confirmed it and may answer agents until it is removed. Repeat the request.';
  throw new OmicronError('predecessor_draining', detail, { retryAfterSeconds: 1, session_id: sessionId });
}
