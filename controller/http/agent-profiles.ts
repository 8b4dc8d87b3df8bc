import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { AUDIENCES } from '../../contract/names.ts';
import { isNeverAllowed, type PROFILE_TOOLS } from '../../contract/policy/tools.ts';
import { OmicronError } from '../../contract/problem.ts';
import {
  profileChoice,
  profileList,
  profileName,
  profileRestoreRequest,
  profileSaved,
} from '../../contract/profile.ts';
import { getOrCreateRequest } from '../../contract/session.ts';
import type { ControllerKeys } from '../../contract/tokens.ts';
import type { GetOrCreate } from '../lease/get-or-create.ts';
import { type ProfileKeeper, requireProfiles } from '../profiles/profile-keeper.ts';
import type { Broker } from '../store/broker.ts';
import type { Directory } from '../store/directory.ts';
import type { Policies } from '../store/policies.ts';
import type { Profiles } from '../store/profiles.ts';
import type { SessionRow } from '../store/rows.ts';
import { leaseOf, leaseOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';

export interface AgentProfileRoutes {
  publicKeys: ControllerKeys;
  broker: Broker;
  directory: Directory;
  policies: Policies;
  profiles: Profiles;
  getOrCreate: GetOrCreate;
  /** Null: this deployment keeps no profiles. */
  profileKeeper: ProfileKeeper | null;
}

/**
 * D1: what the profile tools of an agent reach. The user is the lease's, the policy is asked here too, since a runner that a page took over
 * would not, and no answer has anything of a profile's content but the domains.
 */
export const agentProfileRoutes: FastifyPluginAsyncZod<AgentProfileRoutes> = async (app, parts) => {
  const { broker, directory, policies, profiles, profileKeeper } = parts;
  app.addHook('onRoute', describeRoutes('runner', 'runners'));
  const ofLease = leaseOnly(parts.publicKeys, AUDIENCES.lease);

  /** The session of a request's lease, while that lives and its policy allows the tool. */
  const sessionFor = async (
    tool: (typeof PROFILE_TOOLS)[number],
    request: Parameters<typeof leaseOf>[0],
  ): Promise<SessionRow> => {
    const { claims } = leaseOf(request);
    const session = await directory.session(claims.session_id, null);
    if (session === null || (await broker.reportActivity(claims, 0)) === null)
      throw new OmicronError('lease_ended', 'The lease of this runner has ended.');
    const { layers } = await policies.of(session.id, session.user_id);
    if (isNeverAllowed(layers, tool)) throw new OmicronError('forbidden', `No policy of the session allows ${tool}.`);
    return session;
  };

  app.get(
    '',
    {
      ...ofLease,
      schema: {
        operationId: 'listLeaseProfiles',
        summary: "The profiles of the lease's user, for its agent",
        response: { 200: profileList },
      },
    },
    async request => ({ profiles: await profiles.list((await sessionFor('listProfiles', request)).user_id) }),
  );

  app.post(
    '/:name/restore',
    {
      ...ofLease,
      schema: {
        operationId: 'restoreLeaseProfile',
        summary: "Makes an older version of one of the user's profiles the current one, for the agent of a lease",
        params: z.object({ name: profileName.describe('Name of the profile among those of its user.') }),
        body: profileRestoreRequest,
        response: { 200: profileSaved },
      },
    },
    async request => {
      const { user_id } = await sessionFor('restoreProfile', request);
      const keeper = requireProfiles(profileKeeper);
      return { version: await keeper.restore(user_id, request.params.name, request.body.version) };
    },
  );

  app.post(
    '/choice',
    {
      ...ofLease,
      schema: {
        operationId: 'chooseLeaseProfile',
        summary: 'Follows the lease by one with this profile, for its agent; its runner ends',
        body: profileChoice,
        response: { 204: z.null() },
      },
    },
    async (request, reply) => {
      const { user_id, conversation_id, ttl_seconds, options } = await sessionFor('setProfile', request);
      const { name, mode } = request.body;
      const { form, tabs } = options.profile ?? {};
      const asBefore = { profile_form: form, profile_tabs: tabs };
      const chosen = { profile: name, profile_mode: mode, ...asBefore, profile_switch: true };
      const lease = { user_id, conversation_id, ttl_seconds, wait_seconds: 0 };
      await parts.getOrCreate.run(getOrCreateRequest.parse({ ...options, ...lease, ...chosen }));
      return reply.status(204).send(null);
    },
  );
};
