import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  authorizeRequest,
  EGRESS_ROUTES,
  type EgressEvent,
  type EgressGrant,
  egressEventReport,
  type WatchAnswer,
  watchRequest,
} from '../../contract/egress.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { verifyServiceToken } from '../../contract/tokens.ts';

export interface StubLease {
  grant: EgressGrant;
  credential: string;
}

export interface ControllerStub {
  readonly url: string;
  /** By runner id. Call `changed()` after touching it. */
  readonly leases: Map<string, StubLease>;
  readonly events: EgressEvent[];
  readonly counts: { authorize: number; watch: number; events: number };
  /** `down` answers 503, `hung` never. */
  mode: 'up' | 'down' | 'hung';
  changed(): void;
  close(): Promise<void>;
}

/** The controller's side of the egress calls, over real HTTP, with leases in a map. */
export async function controllerStub(key: Uint8Array): Promise<ControllerStub> {
  const changes = new EventEmitter().setMaxListeners(0);
  const leases = new Map<string, StubLease>();
  const events: EgressEvent[] = [];
  const counts = { authorize: 0, watch: 0, events: 0 };

  const look = (body: ReturnType<typeof watchRequest.parse>): { answer: WatchAnswer; news: boolean } => {
    const lines = body.leases.map(({ runner_id, client, epoch, session_id, version }) => {
      const grant = leases.get(runner_id)?.grant;
      if (!grant || grant.epoch !== epoch || grant.session_id !== session_id)
        return { state: 'ended' as const, runner_id, client };
      if (grant.version !== version) return { state: 'changed' as const, runner_id, client, grant };
      return { state: 'unchanged' as const, runner_id, client, remaining_ms: grant.remaining_ms };
    });
    return { answer: { leases: lines }, news: lines.some(line => line.state !== 'unchanged') };
  };

  const answer = async (request: IncomingMessage): Promise<unknown> => {
    await verifyServiceToken(key, (request.headers.authorization ?? '').replace('Bearer ', ''), AUDIENCES.egress);
    const body: unknown = JSON.parse(Buffer.concat(await request.toArray()).toString('utf8'));
    if (request.url === EGRESS_ROUTES.authorize) {
      counts.authorize += 1;
      const { runner_id, credential } = authorizeRequest.parse(body);
      const lease = leases.get(runner_id);
      return lease?.credential === credential ? { state: 'granted', grant: lease.grant } : { state: 'refused' };
    }
    if (request.url === EGRESS_ROUTES.events) {
      counts.events += 1;
      events.push(...egressEventReport.parse(body).events);
      changes.emit('events');
      return {};
    }
    counts.watch += 1;
    const asked = watchRequest.parse(body);
    const first = look(asked);
    if (first.news || asked.wait_ms === 0) return first.answer;
    await once(changes, 'changed', { signal: AbortSignal.timeout(asked.wait_ms) }).catch(() => {});
    return look(asked).answer;
  };

  const server = createServer((request, response) => {
    if (stub.mode === 'hung') return;
    if (stub.mode === 'down') return void response.writeHead(503).end();
    answer(request).then(
      body => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      cause => response.writeHead(400).end(String(cause)),
    );
  });
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening));
  const stub: ControllerStub = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // a TCP server that listens has one
    leases,
    events,
    counts,
    mode: 'up',
    changed: () => void changes.emit('changed'),
    close: () => {
      server.closeAllConnections();
      return new Promise(closed => server.close(() => closed()));
    },
  };
  return stub;
}
