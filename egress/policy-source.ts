import type { EgressEvent, EgressGrant, WatchAnswer, WatchRequest } from '../contract/egress.ts';

/** Calls of the proxy to the controller. */
export interface PolicySource {
  /** The grant that belongs to a credential. Throws when the controller cannot answer now; retry later. */
  lookup(runnerId: string, credential: string, signal: AbortSignal): Promise<EgressGrant | 'refused'>;
  /** Resolves when a lease has changed or `wait_ms` has passed. Throws when the controller cannot answer; retry. */
  watch(request: WatchRequest, signal: AbortSignal): Promise<WatchAnswer>;
  /** Writes denials to the timelines; idempotent by event id. Throws when nothing may have been written. */
  report(events: readonly EgressEvent[], signal: AbortSignal): Promise<void>;
}
