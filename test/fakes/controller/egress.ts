import { EventEmitter, once } from 'node:events';
import {
  authorizeRequest,
  EGRESS_ROUTES,
  type EgressEvent,
  type EgressGrant,
  egressEventReport,
  type WatchAnswer,
  type WatchRequest,
  watchRequest,
} from '../../../contract/egress.ts';
import { AUDIENCES } from '../../../contract/names.ts';
import { serviceKey, verifyServiceToken } from '../../../contract/tokens.ts';
import { json, type Route } from './answer.ts';

export interface FakeGrant {
  grant: EgressGrant;
  credential: string;
}

/** Routes of egress proxies. */
export interface FakeEgressRoutes {
  readonly egressSecret: string;
  /** By runner id. Call `changed()` after touching it. */
  readonly leases: Map<string, FakeGrant>;
  /** As they were reported. */
  readonly denials: EgressEvent[];
  /** Calls that were answered. */
  readonly counts: { authorize: number; watch: number; events: number };
  /** Wakes the watches that wait. */
  changed(): void;
}

export function fakeEgressRoutes(egressSecret: string) {
  const changes = new EventEmitter().setMaxListeners(0);
  const state: FakeEgressRoutes = {
    egressSecret,
    leases: new Map(),
    denials: [],
    counts: { authorize: 0, watch: 0, events: 0 },
    changed: () => void changes.emit('changed'),
  };
  const key = serviceKey(egressSecret);

  const compare = ({ leases }: WatchRequest): WatchAnswer['leases'] =>
    leases.map(({ runner_id, client, epoch, session_id, version }) => {
      const grant = state.leases.get(runner_id)?.grant;
      if (!grant || grant.epoch !== epoch || grant.session_id !== session_id)
        return { state: 'ended', runner_id, client };
      if (grant.version !== version) return { state: 'changed', runner_id, client, grant };
      return { state: 'unchanged', runner_id, client, remaining_ms: grant.remaining_ms };
    });

  const route: Route = async ({ method, path, token, body }) => {
    if (method !== 'POST' || !Object.values<string>(EGRESS_ROUTES).includes(path)) return undefined;
    await verifyServiceToken(key, token, AUDIENCES.egress);
    switch (path) {
      case EGRESS_ROUTES.authorize: {
        const { runner_id, credential } = authorizeRequest.parse(body);
        state.counts.authorize += 1;
        const lease = state.leases.get(runner_id);
        return json(
          200,
          lease?.credential === credential ? { state: 'granted', grant: lease.grant } : { state: 'refused' },
        );
      }
      case EGRESS_ROUTES.events: {
        const { events } = egressEventReport.parse(body);
        state.counts.events += 1;
        state.denials.push(...events);
        return { status: 204 };
      }
      default: {
        const asked = watchRequest.parse(body);
        state.counts.watch += 1;
        if (asked.wait_ms > 0 && compare(asked).every(line => line.state === 'unchanged'))
          await once(changes, 'changed', { signal: AbortSignal.timeout(asked.wait_ms) }).catch(() => {});
        return json(200, { leases: compare(asked) } satisfies WatchAnswer);
      }
    }
  };
  return { state, route };
}
