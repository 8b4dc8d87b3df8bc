import { OmicronError } from '../../contract/problem.ts';

/**
 * The meaning for a runner of a route that the controller does not have: in a rollout another replica may have it, so
 * that the call is worth
 * retrying, and where none has, the reader learns why.
 */
export function ofOtherRelease(error: unknown, route: string): unknown {
  if (!(error instanceof OmicronError) || error.code !== 'route_not_found') return error;
  const detail =
    `The controller does not know ${route}: it is of an earlier release than this runner. ` +
    'Bring every replica of the controller to the release of the runners.';
  return new OmicronError('controller_unreachable', detail, { cause: error });
}
