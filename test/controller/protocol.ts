import { randomUUID } from 'node:crypto';
import type { KeepFiles } from '../../contract/files.ts';
import type { Hibernate } from '../../contract/hibernation.ts';
import type { LeaseProfile } from '../../contract/profile.ts';
import type { Tags } from '../../contract/session.ts';
import type { Database } from '../../controller/ports/database.ts';
import { sqlBroker } from '../../controller/store/broker.ts';
import type { Claim } from '../../controller/store/claim-beats.ts';
import { sqlDirectory } from '../../controller/store/directory.ts';
import { sqlFleet } from '../../controller/store/fleet.ts';
import type { Acquired, Acquisition } from '../../controller/store/leases.ts';
import { type LeaseRules, type StartedLease, sqlLeases } from '../../controller/store/leases.ts';
import { sqlMaintenance } from '../../controller/store/maintenance.ts';
import type { RunnerRow, SessionRow } from '../../controller/store/rows.ts';

export const READY: StartedLease = { mcpUrl: 'http://127.0.0.1:1/mcp', workload: null, prefix: 'p/' };

const RULES: LeaseRules = {
  userLimit: 3,
  onUserLimit: 'reject',
  maxSessionSeconds: 3_600,
  claimSeconds: 15,
  startSeconds: 120,
  hibernate: 'never',
  keepFiles: 'none',
};

type Claimed = Extract<Acquired, { outcome: 'claimed' }>;

/** How an acquisition differs from the usual one. */
interface Change extends Partial<Omit<Acquisition, 'request'>> {
  userId?: string;
  conversationId?: string;
  ttlSeconds?: number;
  recordVideo?: boolean;
  tags?: Tags;
  profile?: LeaseProfile;
  profileSwitch?: boolean;
  hibernate?: Hibernate;
  keepFiles?: KeepFiles;
}

/** The steps of the protocol on one database, and the ways a test moves through them. */
export function protocol(database: Database, rules: Partial<LeaseRules> = {}) {
  const all = { ...RULES, ...rules };
  const leases = sqlLeases(database, all);
  const fleet = sqlFleet(database);
  const broker = sqlBroker(database);
  const maintenance = sqlMaintenance(database, all);
  const directory = sqlDirectory(database);

  const acquisition = ({
    userId,
    conversationId,
    ttlSeconds,
    recordVideo,
    tags,
    profile,
    profileSwitch,
    hibernate,
    keepFiles,
    ...change
  }: Change = {}): Acquisition => ({
    request: {
      user_id: userId ?? 'ada',
      conversation_id: conversationId ?? 'c1',
      ttl_seconds: ttlSeconds ?? 600,
      record_video: recordVideo ?? true,
      credentials: true,
      tags,
      profile: profile?.name,
      profile_mode: profile?.mode ?? 'read-write',
      profile_form: profile?.form ?? 'light',
      profile_tabs: false,
      profile_switch: profileSwitch ?? false,
      hibernate,
      keep_files: keepFiles,
    },
    claimId: randomUUID(),
    abandonClaimId: null,
    unhibernated: null,
    waits: false,
    provider: 'local',
    template: 't1',
    namespace: 'local',
    ...change,
  });
  const acquire = (change: Change = {}) => leases.acquire(acquisition(change));

  /** Claims, or says what came instead. */
  const claim = async (change: Change = {}): Promise<Claimed> => {
    const acquired = await acquire(change);
    if (acquired.outcome !== 'claimed') throw new Error(`expected a claim, got ${acquired.outcome}`);
    return acquired;
  };
  const claimOf = ({ session }: { session: SessionRow }): Claim => {
    if (!session.claim_id) throw new Error('the session has no claim');
    return { sessionId: session.id, epoch: session.epoch, claimId: session.claim_id };
  };
  /** Whom a runner's reports speak for. */
  const leaseOf = ({ session, runner }: Claimed) => ({
    session_id: session.id,
    epoch: session.epoch,
    runner_id: runner.id,
  });
  const redeem = (
    claimed: Claimed,
    change: { boot_id?: string; expiresMs?: number; key?: string; ready?: StartedLease } = {},
  ) =>
    broker.redeem(
      {
        ...leaseOf(claimed),
        claim_id: claimOf(claimed).claimId,
        boot_id: change.boot_id ?? claimed.runner.boot_id ?? randomUUID(),
        user_id: claimed.session.user_id,
      },
      change.expiresMs ?? Date.now() + 60_000,
      { key: change.key, ready: change.ready },
    );
  const makeReady = (claimed: Claimed) => leases.makeReady(claimOf(claimed), READY);

  return {
    leases,
    fleet,
    broker,
    maintenance,
    directory,
    acquire,
    claim,
    claimOf,
    leaseOf,
    redeem,
    makeReady,

    /** Warm runners of template t1, old enough to be spared by no pool. */
    async warm(count: number): Promise<RunnerRow[]> {
      await maintenance.setCapacity(120);
      await fleet.plan('local', 't1', count, count);
      const rows = await fleet.take('local', 'creating', count, 0);
      for (const row of rows) await fleet.markUp(row.id, randomUUID(), `http://127.0.0.1:1/${row.id}`);
      await database.query(
        `update omicron.runners set created_at = created_at - interval '1 hour' where state = 'warm'`,
      );
      return rows;
    },

    /** A whole start: claimed, redeemed, ready. */
    async lease(change: Change = {}): Promise<Claimed & { session: SessionRow }> {
      const claimed = await claim(change);
      const redeemed = await redeem(claimed);
      if (redeemed.outcome !== 'redeemed') throw new Error(`expected a redemption, got ${JSON.stringify(redeemed)}`);
      const session = await makeReady(claimed);
      if (!session) throw new Error('expected a ready lease');
      return { ...claimed, session };
    },

    /** Moves a session back in time: what the database's clock would do in `seconds`. */
    async age(sessionId: string, seconds: number): Promise<void> {
      await database.query(
        `update omicron.browser_sessions set expires_at = expires_at - make_interval(secs => $2),
           claim_until = claim_until - make_interval(secs => $2), starting_since = starting_since - make_interval(secs => $2),
           ends_at = ends_at - make_interval(secs => $2), last_used_at = last_used_at - make_interval(secs => $2),
           released_at = released_at - make_interval(secs => $2), yields_until = yields_until - make_interval(secs => $2)
          where id = $1`,
        [sessionId, seconds],
      );
      await database.query(
        `update omicron.runners set deadline_at = deadline_at - make_interval(secs => $2),
           launched_at = launched_at - make_interval(secs => $2), work_until = work_until - make_interval(secs => $2) where session_id = $1`,
        [sessionId, seconds],
      );
    },

    async runner(runnerId: string): Promise<RunnerRow> {
      const row = await directory.runner(runnerId);
      if (!row) throw new Error(`no runner ${runnerId}`);
      return row;
    },
    async session(sessionId: string): Promise<SessionRow> {
      const row = await directory.session(sessionId, null);
      if (!row) throw new Error(`no session ${sessionId}`);
      return row;
    },
  };
}
