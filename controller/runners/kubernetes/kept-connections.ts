import { KubeConfig, type RequestContext } from '@kubernetes/client-node';
import type { Clock } from '../../../time/clock.ts';

/** The files of certificates and keys are read again after this, and a connection that died without a sign is left. */
const RENEW_MS = 10_000;

type Connections = ReturnType<RequestContext['getDispatcher']>;

/**
 * A cluster whose API server is called over connections that are kept. The client (2.0.1) makes an agent for each call, so that each
 * call opens a connection, and most of its CPU at both ends is the TLS handshake.
 */
export class ClusterConnections extends KubeConfig {
  readonly #clock: Clock;
  #kept: Connections;
  #renewAtMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    super();
    this.#clock = clock;
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    const own = context.getDispatcher();
    if (own === undefined) return;
    if (this.#kept === undefined || this.#clock.nowMs() >= this.#renewAtMs) {
      this.#kept = own;
      this.#renewAtMs = this.#clock.nowMs() + RENEW_MS;
    }
    context.setDispatcher(this.#kept);
  }
}
