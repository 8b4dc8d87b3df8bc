import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import { PROFILE_MODES, profileName } from '../../contract/profile.ts';
import { defineTool, type ToolContext } from './define-tool.ts';
import { failed } from './result.ts';

/** A save reads the browser, and a complete one its files. */
const SAVE_SECONDS = 60;

const said = (fields: Record<string, unknown>): CallToolResult => ({
  content: [{ type: 'text', text: JSON.stringify({ success: true, ...fields }) }],
});

/** What the controller refuses is told with its reason: which session has the profile, and until when. */
async function refusable(work: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OmicronError) return failed(error.code, error.message);
    throw error;
  }
}

const listProfiles = defineTool<Record<never, never>, ToolContext>({
  name: 'listProfiles',
  title: 'List profiles',
  does: 'reads',
  description: 'Saved logins of this user, by name',
  seconds: 10,
  input: {},
  output: { profiles: z.array(z.object({ name: z.string() })).optional() },
  run: (_args, { lease: { profiles }, signal }) =>
    refusable(async () =>
      said({
        profiles: (await profiles.list(signal)).map(({ name, version, saved_at, domains, writer_session_id }) => ({
          ...{ name, version, savedAt: saved_at, inUse: writer_session_id !== null },
          loggedIn: domains.flatMap(({ domain, logged_in }) => (logged_in ? [domain] : [])),
        })),
      }),
    ),
});

const setProfile = defineTool({
  name: 'setProfile',
  title: 'Switch profile',
  does: 'changes',
  description: 'Start the browser again with another profile; its tabs close. null: without one',
  seconds: SAVE_SECONDS,
  input: { profileName: profileName.nullable(), mode: z.enum(PROFILE_MODES).default('read-write') },
  output: { message: z.string().optional() },
  run: ({ profileName: name, mode }, { lease: { profiles }, signal }: ToolContext) =>
    refusable(async () => {
      await profiles.choose({ name, mode }, signal);
      return said({ profileName: name, message: 'The browser starts again. Ask for the session again to reach it.' });
    }),
});

const snapshotProfile = defineTool<Record<never, never>, ToolContext>({
  name: 'snapshotProfile',
  title: 'Save profile',
  does: 'moves',
  description: "Save this browser's logins in its profile now",
  seconds: SAVE_SECONDS,
  input: {},
  output: { version: z.int().optional() },
  run: (_args, { lease: { profiles } }) =>
    refusable(async () => {
      return said({ version: await profiles.snapshot() });
    }),
});

const restoreProfile = defineTool({
  name: 'restoreProfile',
  title: 'Restore profile',
  does: 'changes',
  description: 'Make an older version of a profile that no browser has the current one',
  seconds: SAVE_SECONDS,
  input: { profileName, version: z.int().min(1) },
  output: { version: z.int().optional() },
  run: ({ profileName: name, version }, { lease: { profiles }, signal }: ToolContext) =>
    refusable(async () => said({ profileName: name, version: await profiles.restore(name, version, signal) })),
});

/** D1, for agents whose policy names them. */
export const PROFILES = [listProfiles, setProfile, snapshotProfile, restoreProfile];
