import { timingSafeEqual } from 'node:crypto';
import type { EgressClient, EgressGrant, WatchAnswer, WatchRequest } from '../../contract/egress.ts';
import { egressCredential, uploadCredential } from '../../contract/tokens.ts';
import type { AwaitedUpload, EgressLeases, HeldLease, LiveLease } from '../store/egress-leases.ts';
import type { UploadSites } from './upload-sites.ts';

export interface EgressGrantParts {
  egressLeases: EgressLeases;
  /** Sites that uploaders may reach; null: none. */
  uploads: UploadSites | null;
  derivation: Uint8Array;
}

/** The grant that a credential stands for: its runner's browser or uploader. Null: it is not valid. */
export async function authorize(
  { egressLeases, uploads, derivation }: EgressGrantParts,
  runnerId: string,
  credential: string,
): Promise<EgressGrant | null> {
  const [live] = await egressLeases.live([runnerId]);
  if (live && isSame(egressCredential(derivation, live.lease), credential)) return browserGrant(live);
  const [upload] = uploads ? await egressLeases.awaitedUploads([runnerId]) : [];
  if (uploads && upload && isSame(uploadCredential(derivation, upload.lease), credential))
    return uploaderGrant(upload, uploads);
  return null;
}

/** The grant that each of the leases holds now, in the order asked; undefined: none. */
export async function grantsOf(
  { egressLeases, uploads }: EgressGrantParts,
  asked: readonly Known[],
): Promise<(EgressGrant | undefined)[]> {
  const idsOf = (client: EgressClient) => asked.filter(known => known.client === client).map(known => known.runner_id);
  const browsers = idsOf('browser');
  const uploaders = uploads ? idsOf('uploader') : [];
  const live = browsers.length > 0 ? await egressLeases.live(browsers) : [];
  const awaited = uploaders.length > 0 ? await egressLeases.awaitedUploads(uploaders) : [];
  const held = [
    ...live.flatMap(lease => (lease ? browserGrant(lease) : [])),
    ...awaited.flatMap(upload => (uploads && upload ? uploaderGrant(upload, uploads) : [])),
  ];
  const byHolder = new Map(held.map(grant => [`${grant.client} ${grant.runner_id}`, grant]));
  return asked.map(({ client, runner_id }) => byHolder.get(`${client} ${runner_id}`));
}

/** The lease that a runner's browser or uploader holds, without its rules. */
type Held = Pick<EgressGrant, 'session_id' | 'epoch' | 'version' | 'remaining_ms'>;
type Known = WatchRequest['leases'][number];
type Line = WatchAnswer['leases'][number];

/** Null: it has another version. */
function lineOf({ runner_id, client, session_id, epoch, version }: Known, held: Held | undefined): Line | null {
  if (!held || held.session_id !== session_id || held.epoch !== epoch) return { state: 'ended', runner_id, client };
  if (held.version !== version) return null;
  return { state: 'unchanged', runner_id, client, remaining_ms: held.remaining_ms };
}

function heldBy(client: EgressClient, lease: HeldLease | undefined, uploads: UploadSites | null): Held | undefined {
  const [version, leftMs] =
    client === 'browser' ? [lease?.policy_version, lease?.lease_ms] : [uploads?.version, lease?.upload_ms];
  if (!lease || !version || !leftMs || leftMs < 0) return undefined;
  return { session_id: lease.session_id, epoch: lease.epoch, version, remaining_ms: leftMs };
}

/** Changes of each lease since the proxy read it, in the order asked. Null: it has another version. */
export const compareHeld = (
  asked: readonly Known[],
  held: ReadonlyMap<string, HeldLease>,
  uploads: UploadSites | null,
): (Line | null)[] => asked.map(known => lineOf(known, heldBy(known.client, held.get(known.runner_id), uploads)));

/** The same, with the grants of those that have another version. `held` is in the order asked. */
export const compareGrants = (asked: readonly Known[], held: readonly (EgressGrant | undefined)[]): Line[] =>
  asked.map((known, place) => {
    const { runner_id, client } = known;
    const grant = held[place];
    const line = lineOf(known, grant);
    if (line) return line;
    return grant ? { state: 'changed', runner_id, client, grant } : { state: 'ended', runner_id, client };
  });

export const browserGrant = ({ lease, policy, remainingMs }: LiveLease): EgressGrant => ({
  ...lease,
  client: 'browser',
  version: policy.version,
  remaining_ms: Math.max(0, remainingMs),
  layers: policy.layers.map(each => ({ layer: each.layer, sites: each.policy.sites })),
});

/** Site policies are for browsers: none of them keeps a recording from its store, or allows any other site. */
export const uploaderGrant = ({ lease, remainingMs }: AwaitedUpload, uploads: UploadSites): EgressGrant => ({
  ...lease,
  client: 'uploader',
  version: uploads.version,
  remaining_ms: remainingMs,
  layers: [{ layer: 'deployment', sites: uploads.sites }],
});

function isSame(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
