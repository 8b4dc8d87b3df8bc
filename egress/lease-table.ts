import type { EgressClient, EgressGrant } from '../contract/egress.ts';
import { EgressLease, type LeaseLimits } from './lease.ts';
import type { ProxyRefusal } from './refusal.ts';

/** A runner's browser and its uploader have a lease each. */
export const holderOf = (runnerId: string, client: EgressClient): string => `${client} ${runnerId}`;

/** Meaning of a grant beside the lease that its holder has now. A grant of an older epoch is late, and refused. */
export function grantDecision(held: EgressLease | undefined, grant: EgressGrant): 'create' | 'adopt' | 'refuse' {
  if (held?.key.session_id !== grant.session_id) return 'create';
  if (held.key.epoch === grant.epoch) return 'adopt';
  return held.key.epoch > grant.epoch ? 'refuse' : 'create';
}

/** A lease may be used for a new connection when the controller confirmed it this recently. */
export const isFresh = (lease: EgressLease, freshMs: number, nowMs: number): boolean =>
  !lease.ended && nowMs < lease.endsMs && nowMs - lease.confirmedMs <= freshMs;

/** A lease ends when its time is up, or when it was not confirmed for too long. */
export const isOverdue = (lease: EgressLease, confirmMs: number, nowMs: number): boolean =>
  nowMs >= lease.endsMs || nowMs - lease.confirmedMs > confirmMs;

/** The live leases, by credential and by holder. Does no I/O. */
export class LeaseTable {
  readonly #limits: LeaseLimits;
  readonly #leasesMax: number;
  readonly #byCredential = new Map<string, EgressLease>();
  readonly #byHolder = new Map<string, EgressLease>();

  /** `limits` are those of each lease, `leasesMax` is how many there may be. */
  constructor(limits: LeaseLimits, leasesMax: number) {
    this.#limits = limits;
    this.#leasesMax = leasesMax;
  }

  get size(): number {
    return this.#byHolder.size;
  }

  /** The leases as they are now; the table may change while the caller goes through them. */
  list(): readonly EgressLease[] {
    return [...this.#byHolder.values()];
  }

  of(credentialDigest: string): EgressLease | undefined {
    return this.#byCredential.get(credentialDigest);
  }

  /** Takes what the controller granted to a credential; `created` says that the lease is new here. */
  grant(
    credentialDigest: string,
    grant: EgressGrant,
    nowMs: number,
  ): { lease: EgressLease; created: boolean } | ProxyRefusal {
    const holder = holderOf(grant.runner_id, grant.client);
    const held = this.#byHolder.get(holder);
    const decision = grantDecision(held, grant);
    if (decision === 'refuse') return { refused: 'credential_refused' };
    if (held && decision === 'adopt') {
      held.adopt(grant, nowMs);
      this.#byCredential.set(credentialDigest, held);
      return { lease: held, created: false };
    }
    if (held) this.end(held);
    if (this.#byHolder.size >= this.#leasesMax) return { refused: 'leases_full' };
    const lease = new EgressLease(grant, this.#limits, nowMs);
    this.#byHolder.set(holder, lease);
    this.#byCredential.set(credentialDigest, lease);
    return { lease, created: true };
  }

  /** Closes the lease's connections and forgets it. */
  end(lease: EgressLease): void {
    lease.end();
    const holder = holderOf(lease.key.runner_id, lease.client);
    if (this.#byHolder.get(holder) === lease) this.#byHolder.delete(holder);
    for (const [digest, held] of this.#byCredential) if (held === lease) this.#byCredential.delete(digest);
  }
}
