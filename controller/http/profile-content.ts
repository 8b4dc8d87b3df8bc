import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import {
  PROFILE_LIMITS,
  profileCheck,
  profileCheckRequest,
  profileName,
  profileRestoreRequest,
  profileSaved,
  profileState,
} from '../../contract/profile.ts';
import { userId } from '../../contract/session.ts';
import { saveProfileToken } from '../lease/assignment-tokens.ts';
import { type CheckLoginParts, checkProfileLogin } from '../lease/check-login.ts';
import { liveRunner } from '../lease/live-runner.ts';
import { type ProfileKeeper, requireProfiles } from '../profiles/profile-keeper.ts';
import { profileNotFound } from '../profiles/save-refused.ts';
import type { Profiles } from '../store/profiles.ts';

export interface ProfileContentRoutes extends CheckLoginParts {
  profiles: Profiles;
  /** Null: this deployment keeps no profiles. */
  profileKeeper: ProfileKeeper | null;
}

/** A runner reads its browser's storage, and the controller encrypts and stores it. */
const SAVE_MS = 65_000;
/** JSON around the state. */
export const STATE_BODY_BYTES_MAX = PROFILE_LIMITS.stateBytesMax + 1024;

export const ofProfile = z.object({
  user_id: userId,
  name: profileName.describe('Name of the profile among those of its user.'),
});

/** Content of a profile: saved from a browser, checked, made current again, exported and imported. `profileRoutes` judges the caller. */
export const profileContentRoutes: FastifyPluginAsyncZod<ProfileContentRoutes> = async (app, parts) => {
  const { profiles, directory, link } = parts;
  const keeper = () => requireProfiles(parts.profileKeeper);

  app.post(
    '/:name/save',
    {
      schema: {
        operationId: 'saveProfile',
        summary: 'Saves the profile now, from the browser of the lease that has it for writing',
        params: ofProfile,
        response: { 200: profileSaved },
      },
    },
    async request => {
      const { user_id, name } = request.params;
      const profile = await profiles.show(user_id, name);
      if (profile === null) throw profileNotFound();
      if (profile.writer_session_id === null)
        throw new OmicronError('lease_ended', 'No live lease has the profile for writing; request one first.');
      const { runnerId, bootId, endpoint } = await liveRunner(directory, profile.writer_session_id, user_id);
      return link.saveProfile(endpoint, saveProfileToken(parts.keys, runnerId, bootId), SAVE_MS);
    },
  );

  app.post(
    '/:name/check',
    {
      schema: {
        operationId: 'checkProfile',
        summary:
          'Whether a login of the saved profile still holds: opens a page in a browser of its own and looks for what it shows',
        params: ofProfile,
        body: profileCheckRequest,
        response: { 200: profileCheck },
      },
    },
    async request => checkProfileLogin(parts, request.params.user_id, request.params.name, request.body),
  );

  app.post(
    '/:name/restore',
    {
      schema: {
        operationId: 'restoreProfile',
        summary: 'Makes an older version the current one, as a new version',
        params: ofProfile,
        body: profileRestoreRequest,
        response: { 200: profileSaved },
      },
    },
    async request => {
      const { user_id, name } = request.params;
      return { version: await keeper().restore(user_id, name, request.body.version) };
    },
  );

  app.get(
    '/:name/state',
    {
      schema: {
        operationId: 'exportProfile',
        summary: "The content of the current version as Playwright's storageState; it holds the user's logins",
        params: ofProfile,
        response: { 200: profileState },
      },
    },
    async (request, reply) => {
      const { user_id, name } = request.params;
      const state = await keeper().export(user_id, name);
      return reply.type('application/json').send(state as never); // JSON as it is stored
    },
  );

  app.put(
    '/:name/state',
    {
      bodyLimit: STATE_BODY_BYTES_MAX,
      schema: {
        operationId: 'importProfile',
        summary: "Stores a storageState of Playwright's as the current version; makes the profile where there is none",
        params: ofProfile,
        body: profileState,
        response: { 200: profileSaved },
      },
    },
    async request => {
      const { user_id, name } = request.params;
      return { version: await keeper().import(user_id, name, request.body) };
    },
  );
};
