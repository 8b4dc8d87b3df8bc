import { type AssignAnswer, type Assignment, assignmentClaims } from '../contract/assignment.ts';
import { AUDIENCES } from '../contract/names.ts';
import { pageOptions } from '../contract/page-options.ts';
import { OmicronError } from '../contract/problem.ts';
import type { ProfileContent } from '../contract/profile.ts';
import { verifyControllerToken } from '../contract/tokens.ts';
import { outsideSpans } from '../process/tracing.ts';
import { loginOrigins } from './credentials/login-origins.ts';
import { type ServedLease, serveLease } from './lease/lease.ts';
import type { LeaseOptions } from './lease/options.ts';
import { type Redeemed, redeemAssignment } from './lease/redeem.ts';
import type { OwnState } from './own-state.ts';
import { secretsHeld } from './profile/held-secrets.ts';
import { type OpenProfile, openProfile, type ProfileOptions } from './profile/lease-profile.ts';
import { restore } from './profile/light-profile.ts';
import { LeaseTrace } from './reporting/lease-trace.ts';
import { redactorBeforeFill } from './reporting/redact.ts';
import type { RunnerDependencies } from './runner-dependencies.ts';
import { type LongTexts, longTexts } from './text-thread/long-texts.ts';

/** How a runner ends that cannot serve its lease. */
interface Ending {
  readonly stop: (reason: string, exitCode?: number) => void;
  readonly stopAfterGrace: (reason: string) => void;
  /** Aborts with the runner's end. */
  readonly signal: AbortSignal;
}

/** Gives a runner its lease. The same assignment gets the same answer; any other is refused permanently. */
export async function assignLease(
  { token, traceparent }: { readonly token: string; readonly traceparent: unknown },
  options: RunnerDependencies,
  state: OwnState,
  ending: Ending,
): Promise<AssignAnswer> {
  const { runnerId, keys } = options;
  const { bootId, machine, assigned } = state;
  const { claims } = await verifyControllerToken(keys, AUDIENCES.runner(runnerId, bootId), token, assignmentClaims);
  if (claims.runner_id !== runnerId)
    throw new OmicronError('assignment_refused', 'The assignment names another runner.');
  if (assigned !== undefined) {
    if (assigned.assignment.jti === claims.jti) return assigned.answer;
    throw new OmicronError('assignment_refused', 'This runner was already assigned, and serves one lease only.');
  }
  if (!machine.enter('assigned', { session_id: claims.session_id, epoch: claims.epoch }))
    throw machine.failure ?? new OmicronError('assignment_refused', `This runner is ${machine.phase}, not warm.`);
  const { promise, resolve } = Promise.withResolvers<void>();
  state.serving = promise; // an agent may have the lease from its redemption on, and come before it is served
  const answer = startLease({ assignment: claims, token, traceparent, isServed: resolve }, options, state, ending);
  state.assigned = { assignment: claims, answer };
  return answer;
}

interface Starting {
  readonly assignment: Assignment;
  readonly token: string;
  /** The span of the assignment. */
  readonly traceparent: unknown;
  /** Called once agents are served, or never will be. */
  readonly isServed: () => void;
}

async function startLease(
  { assignment, token, traceparent, isServed }: Starting,
  options: RunnerDependencies,
  state: OwnState,
  ending: Ending,
): Promise<AssignAnswer> {
  const { session_id, epoch, runner_id } = assignment;
  const { own, machine, bootId } = state;
  try {
    const { tabs, ...lease } = await prepareLease(assignment, token, options, state, ending.signal);
    if (own.browser === undefined || own.work === undefined || !machine.enter('redeemed', { epoch }))
      throw machine.failure ?? new OmicronError('assignment_refused', `This runner is ${machine.phase}.`);
    own.work.spans.lease = new LeaseTrace(traceparent, assignment);
    const parts = { ...lease, assignment, browser: own.browser, work: own.work };
    const serve = (): ServedLease => {
      const lease = { ...options, ...parts, onEnd: ending.stop, signal: ending.signal };
      state.served = outsideSpans(() => serveLease(lease)); // its loops outlive the assignment
      return state.served;
    };
    if (tabs === undefined) onceAnswered(serve, isServed, options, state, ending);
    else {
      const reopened = serve().reopenTabs(tabs);
      isServed();
      await reopened;
    }
    return { runner_id, boot_id: bootId, session_id, epoch };
  } catch (error) {
    const known = error instanceof OmicronError;
    if (machine.fail(known ? error : new OmicronError('runner_start_failed', 'The assignment failed.'))) {
      void own.browser?.close();
      ending.stopAfterGrace('the lease could not be served');
    }
    isServed();
    throw error;
  }
}

/** Serving a lease takes longer to set up than all else here. A request that follows the answer waits for it. */
function onceAnswered(
  serve: () => void,
  isServed: () => void,
  { log }: RunnerDependencies,
  { machine }: OwnState,
  { stop }: Ending,
): void {
  setImmediate(() => {
    try {
      if (machine.phase === 'leased') serve();
    } catch (error) {
      log.error({ err: error }, 'lease not served');
      stop('the lease could not be served', 1);
    }
    isServed();
  });
}

type Prepared = Pick<LeaseOptions, 'redeemed' | 'redactor' | 'texts' | 'profile' | 'restored'> & {
  /** To be opened before agents are served. */
  readonly tabs: NonNullable<LeaseOptions['restored']> | OpenProfile['tabs'];
};

/** Redeems the lease's secrets, and restores its profile or the session that was hibernated. */
async function prepareLease(
  assignment: Assignment,
  token: string,
  options: RunnerDependencies,
  state: OwnState,
  signal: AbortSignal,
): Promise<Prepared> {
  const { controller, clock } = options;
  const { own } = state;
  const page = pageOptions.parse(assignment.options);
  const adapting = Object.keys(page).length === 0 ? undefined : own.adapt(page);
  const [redeemed] = await Promise.all([redeemAssignment(controller, token, signal, clock), adapting]);
  state.hibernates = redeemed.hibernates;
  const leaseRedactor = redactorBeforeFill(redeemed.secrets);
  const texts = longTexts(leaseRedactor);
  state.conceal = leaseRedactor.redact;
  const { browser } = own;
  const opening = browser && { ...options, browser, restart: own.restart };
  const profile = opening && (await openLeaseProfile(opening, assignment, redeemed, texts, signal));
  const restored = redeemed.restores ? await controller.snapshot(redeemed.leaseToken, signal) : undefined;
  if (own.browser !== undefined && restored?.state != null) await restore(own.browser.context, restored.state);
  return { redeemed, redactor: leaseRedactor, texts, profile, restored, tabs: restored ?? profile?.tabs };
}

/** Undefined: the lease has no profile. */
async function openLeaseProfile(
  { controller, clock, log, ...options }: RunnerDependencies & Pick<ProfileOptions, 'browser' | 'restart'>,
  { options: { profile } }: Assignment,
  { leaseToken, secrets, sites, policy }: Redeemed,
  texts: LongTexts,
  signal: AbortSignal,
): Promise<OpenProfile | undefined> {
  if (profile === undefined) return undefined;
  const info = (message: string, details: Record<string, unknown>) => log.info(details, message);
  const holdsEach = Object.keys(secrets).length === 0 ? undefined : texts.holdsEach;
  const { insecureLoginOrigins: insecureOrigins } = options.settings;
  const origins = loginOrigins({ sites, policy: () => policy, insecureOrigins });
  const held = (content: ProfileContent) => secretsHeld(content, { secrets, sites, origins });
  return openProfile(
    { ...options, profile, controller, leaseToken, holdsEach, secretsHeld: held, clock, info },
    signal,
  );
}
