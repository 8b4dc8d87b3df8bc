import type { CallToolResult } from '@modelcontextprotocol/server';
import { OmicronError } from '../../contract/problem.ts';
import type { Profile, ProfileChoice } from '../../contract/profile.ts';
import type { ControllerClient } from '../reporting/controller-client.ts';
import { failureResult } from '../results/result.ts';

/** The profiles that the tools of one lease reach: those of its user, and of no other. Rejects with OmicronErrors. */
export interface ProfileAccess {
  list(signal: AbortSignal): Promise<Profile[]>;
  /** Saves the profile of the lease. Resolves with the version that holds it. */
  snapshot(): Promise<number>;
  restore(name: string, version: number | undefined, signal: AbortSignal): Promise<number>;
  /** Replaces the lease by one with this profile. */
  choose(choice: ProfileChoice, signal: AbortSignal): Promise<void>;
}

/** `save` undefined: the lease has no profile. */
export const profileAccess = (
  controller: Pick<ControllerClient, 'listProfiles' | 'restoreProfile' | 'chooseProfile'>,
  leaseToken: string,
  save: (() => Promise<number>) | undefined,
): ProfileAccess => ({
  list: signal => controller.listProfiles(leaseToken, signal),
  restore: (name, version, signal) => controller.restoreProfile(leaseToken, name, version, signal),
  choose: (choice, signal) => controller.chooseProfile(leaseToken, choice, signal),
  async snapshot() {
    if (save === undefined)
      throw new OmicronError('profile_not_found', 'This browser has no profile: setProfile starts it with one.');
    return save();
  },
});

/** A save reads the browser, and a complete one its files. */
export const SAVE_SECONDS = 60;

/** Answers a refusal of the controller with its reason: which session has the profile, and until when. */
export async function answerRefusals(work: () => Promise<CallToolResult>): Promise<CallToolResult> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof OmicronError) return failureResult(error.code, error.message);
    throw error;
  }
}
