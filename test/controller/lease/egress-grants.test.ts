import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { EgressGrant } from '../../../contract/egress.ts';
import { parsePolicy } from '../../../contract/policy/document.ts';
import { egressCredential, uploadCredential } from '../../../contract/tokens.ts';
import {
  authorize,
  browserGrant,
  compareGrants,
  type EgressGrantParts,
  grantsOf,
  uploaderGrant,
} from '../../../controller/lease/egress-grants.ts';
import type { AwaitedUpload, LiveLease } from '../../../controller/store/egress-leases.ts';

const derivation = new Uint8Array(32).fill(7);
const leaseOf = (runner_id: string = randomUUID()) => ({ session_id: randomUUID(), epoch: 3, runner_id });
const denied = parsePolicy({ version: 1, sites: { deny: ['example.com'] } });
const uploads = { version: 'u1', sites: { allow: ['bucket.example'], ports: [443], httpsOnly: true } };

const live = (remainingMs = 60_000): LiveLease => ({
  lease: leaseOf(),
  policy: { version: 'p1', layers: [{ layer: 'user', policy: denied }] },
  remainingMs,
});
const awaited = (): AwaitedUpload => ({ lease: leaseOf(), remainingMs: 5_000 });

/** A deployment with these leases, and what was read of it. */
function deployment(held: { live?: LiveLease[]; awaited?: AwaitedUpload[] }, known = uploads) {
  const reads: string[] = [];
  const find = <T extends { lease: { runner_id: string } }>(all: T[] = [], ids: readonly string[]) =>
    ids.map(id => all.find(each => each.lease.runner_id === id) ?? null);
  const parts: EgressGrantParts = {
    derivation,
    uploads: known,
    egressLeases: {
      async live(ids) {
        reads.push('live');
        return find(held.live, ids);
      },
      async awaitedUploads(ids) {
        reads.push('awaited');
        return find(held.awaited, ids);
      },
      held: () => Promise.reject(new Error('not asked here')),
      writeDenials: async () => {},
    },
  };
  return { parts, reads };
}

describe('a grant', () => {
  it('for a browser has the site rules of every layer, and a remaining time of at least zero', () => {
    const expired = live(-5);
    expect(browserGrant(expired)).toEqual({
      ...expired.lease,
      client: 'browser',
      version: 'p1',
      remaining_ms: 0,
      layers: [{ layer: 'user', sites: denied.sites }],
    });
  });

  it('for an uploader has the sites of the deployment’s artifact store and no other', () => {
    const upload = awaited();
    expect(uploaderGrant(upload, uploads)).toEqual({
      ...upload.lease,
      client: 'uploader',
      version: 'u1',
      remaining_ms: 5_000,
      layers: [{ layer: 'deployment', sites: uploads.sites }],
    });
  });
});

describe('a credential', () => {
  it('stands for its own runner’s browser or uploader', async () => {
    const [browser, upload] = [live(), awaited()];
    const { parts } = deployment({ live: [browser], awaited: [upload] });
    const ask = (lease: { runner_id: string }, credential: string) => authorize(parts, lease.runner_id, credential);
    expect(await ask(browser.lease, egressCredential(derivation, browser.lease))).toEqual(browserGrant(browser));
    expect(await ask(upload.lease, uploadCredential(derivation, upload.lease))).toEqual(uploaderGrant(upload, uploads));
  });

  it('is refused to another lease, another client or no runner', async () => {
    const [browser, upload] = [live(), awaited()];
    const { parts } = deployment({ live: [browser], awaited: [upload] });
    for (const [lease, credential] of [
      [browser.lease, egressCredential(derivation, { ...browser.lease, epoch: 4 })],
      [browser.lease, uploadCredential(derivation, browser.lease)],
      [upload.lease, egressCredential(derivation, upload.lease)],
      [leaseOf(), egressCredential(derivation, browser.lease)],
      [browser.lease, 'short'],
    ] as const)
      expect(await authorize(parts, lease.runner_id, credential)).toBeNull();
  });

  it('is refused to an uploader if uploads do not go through the proxy', async () => {
    const upload = awaited();
    const { parts } = deployment({ awaited: [upload] });
    const credential = uploadCredential(derivation, upload.lease);
    expect(await authorize({ ...parts, uploads: null }, upload.lease.runner_id, credential)).toBeNull();
  });
});

describe('a watch', () => {
  const asked = (grant: EgressGrant, change: object = {}) => ({
    session_id: grant.session_id,
    epoch: grant.epoch,
    runner_id: grant.runner_id,
    client: grant.client,
    version: grant.version,
    ...change,
  });

  it('reads what it is asked about in the order asked, a browser and an uploader of one runner apart', async () => {
    const browser = live();
    const upload: AwaitedUpload = { lease: browser.lease, remainingMs: 1 };
    const [one, two] = [browserGrant(browser), uploaderGrant(upload, uploads)];
    const { parts, reads } = deployment({ live: [browser], awaited: [upload] });
    expect(await grantsOf(parts, [asked(two), asked(one, { runner_id: randomUUID() }), asked(one)])).toEqual([
      two,
      undefined,
      one,
    ]);
    expect(reads).toEqual(['live', 'awaited']);
    reads.length = 0;
    expect(await grantsOf(parts, [asked(one)])).toEqual([one]);
    expect(reads).toEqual(['live']);
  });

  it('says what is unchanged, changed and ended', () => {
    const grant = browserGrant(live());
    const { runner_id, client } = grant;
    const line = (change: object, held: EgressGrant | undefined = grant) =>
      compareGrants([asked(grant, change)], [held])[0];
    expect(line({})).toEqual({ state: 'unchanged', runner_id, client, remaining_ms: grant.remaining_ms });
    expect(line({ version: 'p0' })).toEqual({ state: 'changed', runner_id, client, grant });
    const ended = { state: 'ended', runner_id, client };
    expect(line({ epoch: 2 })).toEqual(ended);
    expect(line({ session_id: randomUUID() })).toEqual(ended);
    expect(compareGrants([asked(grant)], [undefined])).toEqual([ended]);
  });
});
