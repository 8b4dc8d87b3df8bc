import { timingSafeEqual } from 'node:crypto';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import {
  authorizeAnswer,
  authorizeRequest,
  EGRESS_ROUTES,
  type EgressClient,
  type EgressGrant,
  egressEventReport,
  type WatchAnswer,
  type WatchRequest,
  watchAnswer,
  watchRequest,
} from '../../contract/egress.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { egressCredential, uploadCredential, verifyServiceToken } from '../../contract/tokens.ts';
import type { Changes } from '../lease/changes.ts';
import type { UploadSites } from '../lease/upload-sites.ts';
import type { AwaitedUpload, EgressLeases, LiveLease } from '../store/egress-leases.ts';
import { bearerOf } from './bearer.ts';
import { problems } from './problems.ts';

export interface EgressRoutes {
  egressKey: Uint8Array;
  derivation: Uint8Array;
  egressLeases: EgressLeases;
  /** What uploaders may reach; null: nothing. */
  uploads: UploadSites | null;
  changes: Changes;
}

const security = [{ egress: [] }];

const browserGrant = ({ lease, policy, remainingMs }: LiveLease): EgressGrant => ({
  ...lease,
  client: 'browser',
  version: policy.version,
  remaining_ms: Math.max(0, remainingMs),
  layers: policy.layers.map(each => ({ layer: each.layer, sites: each.policy.sites })),
});

/** Site policies are for browsers: none of them keeps a recording from its store, or opens anything else. */
const uploaderGrant = ({ lease, remainingMs }: AwaitedUpload, { sites, version }: UploadSites): EgressGrant => ({
  ...lease,
  client: 'uploader',
  version,
  remaining_ms: remainingMs,
  layers: [{ layer: 'deployment', sites }],
});

const same = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

/** What the egress proxy asks: whose credential this is, what changed since, and where to write what it denied. */
export const egressRoutes: FastifyPluginAsyncZod<EgressRoutes> = async (
  app,
  { egressKey, derivation, egressLeases, uploads, changes },
) => {
  app.addHook('onRequest', async request => {
    await verifyServiceToken(egressKey, bearerOf(request), AUDIENCES.egress);
  });

  app.post(
    EGRESS_ROUTES.authorize,
    {
      schema: {
        operationId: 'authorizeEgress',
        summary: 'Whose traffic carries this credential, and the site rules of its lease',
        security,
        body: authorizeRequest,
        response: { 200: authorizeAnswer, ...problems },
      },
    },
    async request => {
      const { runner_id, credential } = request.body;
      const [live] = await egressLeases.live([runner_id]);
      if (live && same(egressCredential(derivation, live.lease), credential))
        return { state: 'granted' as const, grant: browserGrant(live) };
      const [upload] = uploads ? await egressLeases.awaitedUploads([runner_id]) : [];
      if (uploads && upload && same(uploadCredential(derivation, upload.lease), credential))
        return { state: 'granted' as const, grant: uploaderGrant(upload, uploads) };
      return { state: 'refused' as const };
    },
  );

  /** What each of these holds now; undefined: nothing. */
  const grants = async (asked: WatchRequest['leases']): Promise<(EgressGrant | undefined)[]> => {
    const idsOf = (client: EgressClient) =>
      asked.filter(known => known.client === client).map(known => known.runner_id);
    const [browsers, uploaders] = [idsOf('browser'), uploads ? idsOf('uploader') : []];
    const live = browsers.length > 0 ? await egressLeases.live(browsers) : [];
    const awaited = uploaders.length > 0 ? await egressLeases.awaitedUploads(uploaders) : [];
    const held = [
      ...live.flatMap(lease => lease ?? []).map(browserGrant),
      ...awaited.flatMap(upload => (uploads && upload ? uploaderGrant(upload, uploads) : [])),
    ];
    const byHolder = new Map(held.map(grant => [`${grant.client} ${grant.runner_id}`, grant]));
    return asked.map(({ client, runner_id }) => byHolder.get(`${client} ${runner_id}`));
  };

  const compare = (asked: WatchRequest['leases'], held: (EgressGrant | undefined)[]): WatchAnswer['leases'] =>
    asked.map((known, place) => {
      const grant = held[place];
      const { runner_id, client } = known;
      if (!grant || grant.session_id !== known.session_id || grant.epoch !== known.epoch)
        return { state: 'ended', runner_id, client };
      if (grant.version !== known.version) return { state: 'changed', runner_id, client, grant };
      return { state: 'unchanged', runner_id, client, remaining_ms: grant.remaining_ms };
    });

  app.post(
    EGRESS_ROUTES.watch,
    {
      bodyLimit: 1024 * 1024, // 2000 leases of some 300 bytes
      schema: {
        operationId: 'watchEgressLeases',
        summary: 'Answers when one of these leases ended or its site rules changed, or when the wait is over',
        security,
        body: watchRequest,
        response: { 200: watchAnswer, ...problems },
      },
    },
    async request => {
      const { leases, wait_ms } = request.body;
      const seen = await changes.until(
        async () => compare(leases, await grants(leases)),
        lines => lines.some(line => line.state !== 'unchanged'),
        wait_ms,
      );
      return { leases: seen };
    },
  );

  app.post(
    EGRESS_ROUTES.events,
    {
      bodyLimit: 256 * 1024,
      schema: {
        operationId: 'reportDenials',
        summary: 'Writes denials to the timelines of their sessions',
        security,
        body: egressEventReport,
        response: { 204: z.null(), ...problems },
      },
    },
    async (request, reply) => {
      await egressLeases.writeDenials(request.body.events);
      return reply.status(204).send(null);
    },
  );
};
