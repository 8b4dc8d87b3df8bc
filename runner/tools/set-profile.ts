import * as z from 'zod';
import { PROFILE_MODES, profileName } from '../../contract/profile.ts';
import { successResult } from '../results/result.ts';
import { besideForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';
import { answerRefusals, SAVE_SECONDS } from './profile-access.ts';

/** D1, for agents whose policy names it. */
export const setProfile = defineTool({
  name: 'setProfile',
  seconds: SAVE_SECONDS,
  effect: 'acts',
  whileTainted: 'exempt',
  shorter: null,
  custom: besideForm({
    sets: ['playwright', 'core', 'compat', 'both'],
    title: 'Switch profile',
    description: 'Start the browser again with another profile; its tabs close. null: without one',
    input: { profileName: profileName.nullable(), mode: z.enum(PROFILE_MODES).default('read-write') },
    output: { message: z.string().optional() },
    run: ({ profileName: name, mode }, { lease: { profiles }, signal }) =>
      answerRefusals(async () => {
        await profiles.choose({ name, mode }, signal);
        return successResult({
          profileName: name,
          message:
            'The browser starts again with it. The next call reaches it; a client that keeps an address asks for the session again.',
        });
      }),
  }),
});
