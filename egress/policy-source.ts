import type { EgressEvent, EgressGrant, WatchAnswer, WatchRequest } from '../contract/egress.ts';

/** What the proxy asks of whoever grants leases. */
export interface PolicySource {
  /** Whose credential this is. Throws when the question cannot be answered now; ask again later. */
  lookup(runnerId: string, credential: string, signal: AbortSignal): Promise<EgressGrant | 'refused'>;
  /** Answers when a lease changed or `wait_ms` has passed. Throws when it cannot be answered; ask again. */
  watch(request: WatchRequest, signal: AbortSignal): Promise<WatchAnswer>;
  /** Writes denials to the timelines; idempotent by event id. Throws when nothing may have been written. */
  report(events: readonly EgressEvent[], signal: AbortSignal): Promise<void>;
}
