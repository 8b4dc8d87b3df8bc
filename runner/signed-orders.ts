import { checkLoginClaims, drainClaims, saveProfileClaims } from '../contract/assignment.ts';
import { filesClaims } from '../contract/files.ts';
import { hibernateClaims } from '../contract/hibernation.ts';
import type { LiveTokenClaims } from '../contract/live.ts';
import { LIVE_LIMITS } from '../contract/live-limits.ts';
import { AUDIENCES } from '../contract/names.ts';
import { OmicronError } from '../contract/problem.ts';
import type { ProfileCheck } from '../contract/profile.ts';
import { verifyControllerToken } from '../contract/tokens.ts';
import type { SessionFiles } from './files/session-files.ts';
import type { ServedLease } from './lease/lease.ts';
import type { LiveView } from './live/live-view.ts';
import { opensLease } from './mcp/bearer.ts';
import type { McpEndpoint } from './mcp/endpoint.ts';
import type { OwnState } from './own-state.ts';
import { checkLoginPage } from './profile/check-login.ts';
import type { RunnerDependencies } from './runner-dependencies.ts';

/** A viewer whose token was checked. */
export interface AdmittedViewer {
  readonly claims: LiveTokenClaims;
  readonly live: LiveView;
}

/** Requests to a runner under a token, by others: its controller, the agents of its lease and their viewers. */
export interface SignedOrders {
  /** Stops by a signed token of the controller; resolves when no agent is served any more. */
  drain(token: string): Promise<void>;
  /** Saves the lease's profile now, by a signed token of the controller. Resolves with the version that holds it. */
  saveProfile(token: string): Promise<number>;
  /** Gives the browser back and keeps the session, by a signed token of the controller. Throws `lease_in_use` where the lease goes on. */
  hibernate(token: string): Promise<void>;
  /** Looks at a page, whether the lease's profile is logged in there, by a signed token of the controller. */
  checkLogin(token: string): Promise<ProfileCheck>;
  /** The lease's MCP endpoint for this bearer token, also after its end; rejects with `unauthorized` for any other. */
  endpoint(bearerToken: string | undefined): Promise<McpEndpoint>;
  /** The live view for a viewer's token, which it uses up; throws `unauthorized` for any other. */
  liveView(token: string | undefined): Promise<AdmittedViewer>;
  /** The files of the lease, by a signed token of the controller. Throws `lease_ended` where none is served. */
  files(token: string | undefined): Promise<SessionFiles>;
}

export function signedOrders(
  { runnerId, keys }: RunnerDependencies,
  state: OwnState,
  stop: (reason: string) => void,
): SignedOrders {
  const { machine, own, bootId } = state;
  const audience = AUDIENCES.runner(runnerId, bootId);

  /** The lease, once it is served. Throws `lease_ended` where none is served, or not any more. */
  async function servedLease(isServing: () => boolean): Promise<ServedLease> {
    await state.serving;
    if (state.served === undefined || !isServing())
      throw new OmicronError('lease_ended', 'This runner serves no lease.');
    return state.served;
  }
  const untilDrained = () => servedLease(() => machine.phase !== 'draining');

  return {
    async drain(token) {
      const { claims } = await verifyControllerToken(keys, audience, token, drainClaims);
      stop(claims.reason);
      await state.closedToAgents;
    },
    async saveProfile(token) {
      await verifyControllerToken(keys, audience, token, saveProfileClaims);
      await state.serving;
      if (state.served?.saveProfile === undefined)
        throw new OmicronError('lease_ended', 'This runner serves no lease with a profile.');
      return state.served.saveProfile();
    },
    async hibernate(token) {
      const { claims } = await verifyControllerToken(keys, audience, token, hibernateClaims);
      await (await servedLease(() => machine.phase === 'leased')).hibernate(claims);
    },
    async checkLogin(token) {
      const { claims } = await verifyControllerToken(keys, audience, token, checkLoginClaims);
      await servedLease(() => own.browser !== undefined);
      if (own.browser === undefined) throw new OmicronError('lease_ended', 'This runner serves no lease.');
      return checkLoginPage(own.browser.context, claims.page);
    },
    async endpoint(bearerToken = '') {
      const { assigned } = state;
      if (assigned === undefined || !(await opensLease(bearerToken, assigned.assignment, { keys, nowMs: Date.now() })))
        throw new OmicronError(
          'unauthorized',
          "The bearer token is not this runner's lease's; ask for the session again.",
        );
      await state.serving;
      if (state.served !== undefined) return state.served.endpoint;
      throw new OmicronError(
        'lease_ended',
        `${machine.failure?.message ?? 'This runner is stopping.'} Request a new lease.`,
      );
    },
    async files(token = '') {
      await verifyControllerToken(keys, audience, token, filesClaims);
      return (await untilDrained()).files;
    },
    async liveView(token) {
      const { admission, live } = await untilDrained();
      const claims = await admission.admit(token);
      if (live.isFull())
        throw new OmicronError('capacity_exceeded', `The browser has ${LIVE_LIMITS.viewersMax} viewers already.`);
      return { claims, live };
    },
  };
}
