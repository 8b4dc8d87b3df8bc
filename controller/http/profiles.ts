import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { profileDetail, profileList } from '../../contract/profile.ts';
import { userId } from '../../contract/session.ts';
import { requireProfiles } from '../profiles/profile-keeper.ts';
import { profileNotFound } from '../profiles/save-refused.ts';
import { requireTokenUser, serviceOnly } from './bearer.ts';
import { describeRoutes } from './describe.ts';
import { ofProfile, type ProfileContentRoutes, profileContentRoutes } from './profile-content.ts';

export interface ProfileRoutes extends ProfileContentRoutes {
  serviceKey: Uint8Array;
}

const ofUser = z.object({ user_id: userId });

/** The profiles of a user. Their content leaves by `export` alone. */
export const profileRoutes: FastifyPluginAsyncZod<ProfileRoutes> = async (app, parts) => {
  const { profiles } = parts;
  app.addHook('onRoute', describeRoutes('service', 'profiles'));
  app.decorateRequest('userId', null);
  app.addHook('onRequest', serviceOnly(parts.serviceKey));
  app.addHook('preHandler', async request => requireTokenUser(request, ofUser.parse(request.params).user_id));

  app.get(
    '',
    {
      schema: {
        operationId: 'listProfiles',
        summary: "The user's profiles by name, and the domains that are logged in",
        params: ofUser,
        response: { 200: profileList },
      },
    },
    async request => ({ profiles: await profiles.list(request.params.user_id) }),
  );

  app.get(
    '/:name',
    {
      schema: {
        operationId: 'showProfile',
        summary: 'One profile with the versions that are kept',
        params: ofProfile,
        response: { 200: profileDetail },
      },
    },
    async request => {
      const { user_id, name } = request.params;
      const profile = await profiles.show(user_id, name);
      if (profile === null) throw profileNotFound();
      return profile;
    },
  );

  app.delete(
    '/:name',
    {
      schema: {
        operationId: 'deleteProfile',
        summary: 'Deletes the profile with all its versions; repeating it changes nothing',
        params: ofProfile,
        response: { 204: z.null() },
      },
    },
    async (request, reply) => {
      await requireProfiles(parts.profileKeeper).remove(request.params.user_id, request.params.name);
      return reply.status(204).send(null);
    },
  );

  await app.register(profileContentRoutes, { ...parts, prefix: '' }); // below the prefix of this one
};
