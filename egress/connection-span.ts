import type { EgressDenial } from '../contract/egress.ts';
import type { LeaseKey } from '../contract/lease-key.ts';
import { inSpan } from '../process/tracing.ts';
import { isRefusal, type ProxyRefusal } from './refusal.ts';
import type { Destination } from './target.ts';

interface TracedConnection {
  readonly traceparent?: unknown;
  readonly target: Destination;
  readonly method: EgressDenial['method'];
}

/**
 * Opens a connection in a span below the call that caused it, which lasts until the connection is there. The host is not in it: pages
 * make up names. A connection that no traced call caused has none.
 */
export const inConnectionSpan = <Connection extends object>(
  { method, target, traceparent }: TracedConnection,
  { session_id, epoch }: LeaseKey,
  open: () => Promise<Connection | ProxyRefusal>,
): Promise<Connection | ProxyRefusal> =>
  inSpan(
    'egress connection',
    {
      kind: 'client',
      parent: traceparent,
      attributes: {
        'omicron.egress.method': method,
        'server.port': target.port,
        'omicron.session.id': session_id,
        'omicron.session.epoch': epoch,
      },
    },
    async span => {
      const outcome = await open();
      if (isRefusal(outcome))
        span.set({
          'error.type': outcome.refused,
          ...(outcome.addressClass === undefined ? {} : { 'omicron.egress.address_class': outcome.addressClass }),
        });
      return outcome;
    },
  );
