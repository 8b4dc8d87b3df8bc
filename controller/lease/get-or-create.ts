import { randomUUID } from 'node:crypto';
import { OmicronError } from '../../contract/problem.ts';
import type { GetOrCreateRequest, LeaseAnswer } from '../../contract/session.ts';
import { inSpan } from '../../process/tracing.ts';
import { RETRY, waitBackoff } from '../../time/backoff.ts';
import { neverAborts } from '../../time/clock.ts';
import type { LeaseStart } from '../acquire-metrics.ts';
import type { SecretStore } from '../ports/secrets.ts';
import {
  type ProfileKeeper,
  requireHibernation,
  requireProfiles,
  tooManyProfiles,
} from '../profiles/profile-keeper.ts';
import { saveRefusedError as saveRefused } from '../profiles/save-refused.ts';
import type { Directory } from '../store/directory.ts';
import type { Acquired, Acquisition } from '../store/leases.ts';
import type { Policies } from '../store/policies.ts';
import type { SessionRow } from '../store/rows.ts';
import type { SessionHibernation } from './hibernation.ts';
import type { WaitingLine } from './line.ts';
import type { McpAccess } from './mcp-access.ts';
import { type OnWaited, PlaceWait } from './place-wait.ts';
import { refuseUnheld } from './provider-limits.ts';
import { settledBefore } from './settled-before.ts';
import { type StartParts, start } from './start.ts';
import { waitKey } from './waits.ts';

export interface GetOrCreateParts extends StartParts {
  directory: Directory;
  secrets: SecretStore;
  policies: Policies;
  mcpAccess: McpAccess;
  /** Null: this deployment keeps no profiles. */
  profileKeeper: ProfileKeeper | null;
  /** Null: this deployment cannot hibernate sessions. */
  hibernation: Pick<SessionHibernation, 'evict'> | null;
  namespace: string;
  /** Callers that wait where every place is taken. */
  line: WaitingLine;
  onWaited: OnWaited;
  /** A lease became ready, this long after its claim began. */
  onStarted: (start: LeaseStart, seconds: number) => void;
  /** Runners that one start tries, each in an epoch of its own. */
  attemptsMax: number;
}

const LEAVING_POLL_MS = 250;
/** `Retry-After` is an estimate: a caller that comes back, and whose turn is expected within this, waits for it as long. */
const EARLY_MS = 2_000;

/** With when its claim began, by the clock. */
type Claimed = Extract<Acquired, { outcome: 'claimed' }> & { beganMs: number };
type Led = { outcome: 'ready' | 'lost'; session: SessionRow };

/** Renews the lease of a conversation, or leads or awaits the start of a new one. */
export class GetOrCreate {
  readonly #parts: GetOrCreateParts;
  readonly #starts = new Set<Promise<unknown>>();

  constructor(parts: GetOrCreateParts) {
    this.#parts = parts;
  }

  /**
   * Resolves with a `ready` lease, or with a `starting` one when `wait_seconds` have passed. When `left` aborts, the caller has hung up:
   * it no longer waits for a place.
   */
  async run(request: GetOrCreateRequest, left: AbortSignal = neverAborts()): Promise<LeaseAnswer> {
    const { clock } = this.#parts;
    const deadlineMs = clock.nowMs() + request.wait_seconds * 1000;
    if (request.profile) requireProfiles(this.#parts.profileKeeper);
    if (request.hibernate && request.hibernate !== 'never') requireHibernation(this.#parts.hibernation);
    await refuseUnheld(request, this.#parts);
    if (request.require_credentials) await this.#requireCredentials(request.user_id);
    for (;;) {
      const acquired = await this.#acquireInLine(request, deadlineMs, left);
      if (acquired.outcome === 'renewed') {
        const { session } = acquired;
        refuseOtherProfile(request, session);
        const loss = await this.#markLostRunner(session);
        if (loss === 'none' || (loss === 'leaving' && clock.nowMs() >= deadlineMs))
          return this.#lease(request, session);
        if (loss === 'leaving') await clock.sleep(LEAVING_POLL_MS, neverAborts());
        continue;
      }
      const { session } = acquired;
      if (acquired.outcome === 'starting') {
        refuseOtherProfile(request, session);
        if (!(await this.#untilSettled(session, deadlineMs))) return this.#lease(request, session);
        await this.#refuseFailedStart(session);
        continue;
      }
      const started = await settledBefore(deadlineMs, this.#lead(request, acquired), clock);
      if (!started) return this.#lease(request, session);
      if (started.outcome === 'ready') return this.#lease(request, started.session);
      await this.#refuseFailedStart(started.session);
    }
  }

  /** Resolves when every start that this process leads has ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#starts);
  }

  /** Waits until that epoch's start has ended or its claimer has stopped renewing its claim. False: `deadlineMs` (by the clock) came first. */
  async #untilSettled({ id, epoch }: SessionRow, deadlineMs: number): Promise<boolean> {
    const { waits, clock } = this.#parts;
    const settled = await waits.starts.within(deadlineMs - clock.nowMs(), waitKey(id, epoch), {
      signal: neverAborts(),
    });
    return settled ?? false;
  }

  /** Leads a claim to its end, also when the caller has stopped waiting. */
  #lead(request: GetOrCreateRequest, claimed: Claimed): Promise<Led> {
    const { log } = this.#parts;
    const work = this.#startWithRetries(request, claimed);
    const settled = work
      .catch(error => {
        // this caller sees it; other callers read it from the session's row
        if (!(error instanceof OmicronError))
          log.error({ err: error, session_id: claimed.session.id }, 'session start failed');
      })
      .finally(() => {
        this.#starts.delete(settled);
        this.#parts.waits.markSettled(claimed.session.id, claimed.session.epoch);
      });
    this.#starts.add(settled);
    return work;
  }

  /** A runner that fails is given up for another one, in a new epoch. */
  async #startWithRetries(request: GetOrCreateRequest, first: Claimed): Promise<Led> {
    let { session, runner, evicted } = first;
    const { clock, onStarted } = this.#parts;
    for (let attempt = 1; ; attempt++) {
      const attributes = { 'omicron.session.id': session.id, 'omicron.session.epoch': session.epoch };
      const claimed = { session, runner, evicted };
      const started = await inSpan('start lease', { kind: 'internal', attributes }, async span => {
        const ended = await start(this.#parts, claimed.session, claimed.runner, claimed.evicted);
        span.set({ 'omicron.lease.outcome': ended.outcome });
        return ended;
      });
      if (started.outcome === 'ready') {
        onStarted(kindOfStart(first), (clock.nowMs() - first.beganMs) / 1_000);
        return started;
      }
      if (started.outcome === 'lost') return { outcome: 'lost', session };
      const claimId = session.claim_id;
      const giveUp = async () => {
        if (claimId)
          await this.#parts.leases.fail(
            { sessionId: session.id, epoch: session.epoch, claimId },
            started.error.code === 'sandbox_runtime_required' ? started.error.code : 'runner_start_failed',
            started.error.message,
          );
      };
      if (attempt >= this.#parts.attemptsMax) {
        await giveUp();
        throw started.error;
      }
      const again = { claimId: randomUUID(), abandonClaimId: claimId, waits: false };
      const next = await this.#acquire(request, again).catch(async error => {
        await giveUp();
        throw error;
      });
      if (next.outcome === 'refused') {
        await giveUp();
        throw acquireRefused(next);
      }
      this.#parts.waits.markSettled(session.id, session.epoch);
      if (next.outcome !== 'claimed') return { outcome: 'lost', session };
      ({ session, runner, evicted } = next);
    }
  }

  /** A caller waits in the line while every place is taken; released leases give way to those in it. */
  async #acquireInLine(request: GetOrCreateRequest, untilMs: number, left: AbortSignal) {
    const { clock, leases, line, onWaited } = this.#parts;
    let deadlineMs = untilMs;
    let held: string | undefined;
    using wait = new PlaceWait(clock, onWaited);
    for (;;) {
      const waits = clock.nowMs() < deadlineMs && !left.aborted;
      const call = { claimId: randomUUID(), abandonClaimId: null, waits };
      const acquired = await wait.during(() => this.#acquire(request, call));
      if (acquired.outcome !== 'refused') {
        wait.end('place');
        return acquired;
      }
      const { place } = acquired;
      if (place !== undefined) line.joined();
      if (held === undefined && !waits && !left.aborted && isEarly(acquired)) {
        deadlineMs = clock.nowMs() + EARLY_MS;
        held = place;
        continue;
      }
      if (place === undefined || !waits) {
        // called, and refused for another reason: those behind it would wait for its place until that lapses
        if (held !== undefined && place === undefined) await leases.leaveLine(held, false);
        wait.end(left.aborted ? 'left' : 'refused');
        throw acquireRefused(acquired);
      }
      held = place;
      wait.begin(acquired.turn);
      await wait.during(() => line.turn(place, deadlineMs, left));
      if (!left.aborted && clock.nowMs() < deadlineMs) continue;
      const kept = await leases.leaveLine(place, !left.aborted);
      wait.end(left.aborted ? 'left' : 'refused');
      throw acquireRefused({ ...acquired, ...kept });
    }
  }

  /** Evicted leases that ask for it are hibernated if possible; the others are ended. */
  async #acquire(
    request: GetOrCreateRequest,
    call: Pick<Acquisition, 'claimId' | 'abandonClaimId' | 'waits'>,
  ): Promise<Exclude<Acquired, { outcome: 'evicts' | 'claimed' }> | Claimed> {
    const { provider, namespace, hibernation, onPart, clock } = this.#parts;
    const beganMs = clock.nowMs();
    const unhibernated: string[] = [];
    const acquisition = {
      ...call,
      request,
      unhibernated: hibernation && unhibernated,
      provider: provider.name,
      template: await provider.templateDigest(),
      namespace,
    };
    for (;;) {
      const acquired = await this.#acquireOnce(acquisition);
      if (acquired.outcome === 'claimed') {
        onPart('claim', (clock.nowMs() - beganMs) / 1_000);
        return { ...acquired, beganMs };
      }
      if (acquired.outcome !== 'evicts') return acquired;
      const evict = async (id: string) => {
        if (!(await hibernation?.evict(id))) unhibernated.push(id);
      };
      await Promise.all(acquired.sessions.map(evict));
    }
  }

  async #acquireOnce(acquisition: Acquisition): Promise<Acquired> {
    const { leases, clock } = this.#parts;
    try {
      return await leases.acquire(acquisition);
    } catch (error) {
      if (!(error instanceof OmicronError) || error.code !== 'store_unavailable') throw error;
      // the answer to a commit may be lost: the same claim finds its own result, or makes it
      await waitBackoff(0, RETRY, neverAborts(), clock);
      return await leases.acquire(acquisition);
    }
  }

  /** `over`: the lease's runner has died, and its lease with it. `leaving`: it may hibernate the session yet. In both, acquire again. */
  async #markLostRunner(session: SessionRow): Promise<'none' | 'over' | 'leaving'> {
    const { provider, fleet, log } = this.#parts;
    if (!session.runner_id) return 'none';
    const death = await provider.deathOf(session.runner_id);
    if (death === null) return 'none';
    log.warn(
      { session_id: session.id, epoch: session.epoch, runner_id: session.runner_id, ...death },
      'leased runner lost',
    );
    const how = death.ended ? 'ended' : 'leaving';
    const lost = await fleet.markLost(session.runner_id, how, 'runner_lost', death.reason);
    return lost === 'leaving' ? 'leaving' : 'over';
  }

  async #refuseFailedStart(waitedFor: SessionRow): Promise<void> {
    const session = await this.#parts.directory.session(waitedFor.id, null);
    if (!session || session.epoch !== waitedFor.epoch) return;
    const detail = session.error ?? 'The browser did not start.';
    if (session.ended_reason === 'sandbox_runtime_required')
      // a retry would fail the same way
      throw new OmicronError('sandbox_runtime_required', detail, { session_id: session.id });
    if (session.status === 'error' || (session.status === 'hibernated' && session.error !== null))
      throw new OmicronError('runner_start_failed', detail, { session_id: session.id, retryAfterSeconds: 1 });
    if (session.status === 'ended')
      throw new OmicronError('lease_ended', 'The session was ended while it was starting; request a new lease.', {
        session_id: session.id,
      });
  }

  async #requireCredentials(userId: string): Promise<void> {
    const document = await this.#parts.secrets.read(userId);
    if (document && Object.keys(document.credentials).length > 0) return;
    const unusable = Object.entries(document?.unusable ?? {}).map(([site, why]) => `"${site}": ${why}`);
    const why = document?.fault ?? unusable.join('; ');
    throw new OmicronError(
      'credentials_not_configured',
      `No site credentials ${why === '' ? 'are stored for this user' : `of this user can be used (${why})`}; store one, or leave require_credentials out.`,
    );
  }

  #lease({ mcp_auth }: GetOrCreateRequest, session: SessionRow): LeaseAnswer {
    const { mcpAccess } = this.#parts;
    const headers = mcpAccess.headersOf(session);
    const inUrl = mcp_auth === 'url';
    return {
      session_id: session.id,
      status: headers ? 'ready' : 'starting',
      epoch: session.epoch,
      mcp_url: inUrl ? mcpAccess.urlOf(session) : headers && session.mcp_url,
      mcp_headers: inUrl && headers ? {} : headers,
      expires_at: session.expires_at.toISOString(),
      ends_at: session.ends_at.toISOString(),
    };
  }
}

/** By the first runner of its claim, whichever runner served it in the end. */
function kindOfStart({ session, runner }: Claimed): LeaseStart {
  if (session.hibernated_until !== null) return 'restored';
  return runner.assigned_at === null ? 'cold' : 'warm';
}

const isEarly = ({ returns, waitMs }: Extract<Acquired, { outcome: 'refused' }>): boolean =>
  returns === true && waitMs !== undefined && waitMs <= EARLY_MS;

/** A live lease keeps its profile: an agent that asked for another must not act under the wrong logins. */
function refuseOtherProfile({ profile, profile_mode: mode }: GetOrCreateRequest, session: SessionRow): void {
  if (profile === undefined) return;
  const has = session.options.profile;
  if (profile === (has?.name ?? null) && (profile === null || mode === has?.mode)) return;
  const what = has === undefined ? 'no profile' : `the profile ${has.name} (${has.mode})`;
  throw otherProfile(what, session.id);
}

const otherProfile = (what: string, sessionId: string | undefined) =>
  new OmicronError(
    'profile_mismatch',
    `The session of this conversation has ${what}; end it first, or leave the profile out.`,
    sessionId === undefined ? {} : { session_id: sessionId },
  );

function acquireRefused({
  code,
  limit,
  active,
  retryAfterMs,
  holder,
  provider,
  turn,
  waitMs,
}: Extract<Acquired, { outcome: 'refused' }>): OmicronError {
  if (code === 'profile_quota_exceeded') return tooManyProfiles();
  if (code === 'profile_mismatch') return otherProfile('another profile, and is hibernated', holder);
  if (code === 'profile_in_use' || code === 'profile_not_found') return saveRefused({ code, holder, retryAfterMs });
  const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  if (code === 'provider_mismatch')
    return new OmicronError(
      code,
      `The live lease of this conversation is at the provider ${provider}, which this controller does not run. End it, or ask a controller that does.`,
      { retryAfterSeconds },
    );
  if (code === 'predecessor_draining')
    return new OmicronError(
      code,
      `The browser of the previous lease cannot be reached; it closes by itself. Try again in ${retryAfterSeconds} s.`,
      { retryAfterSeconds },
    );
  const detail =
    code === 'user_quota_exceeded'
      ? `The user has ${active} of ${limit} active sessions. Release or end one, or try again in ${retryAfterSeconds} s.`
      : `${active} of ${limit} browsers are in use, and ${turn ?? 0} callers are first. Try again in ${retryAfterSeconds} s: this place in the line is kept until then.`;
  return new OmicronError(code, detail, {
    retryAfterSeconds,
    limit,
    active,
    ...(turn === undefined ? {} : { position: turn + 1 }),
    ...(waitMs === undefined ? {} : { expected_wait_seconds: Math.ceil(waitMs / 1000) }),
  });
}
