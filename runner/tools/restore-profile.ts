import * as z from 'zod';
import { profileName } from '../../contract/profile.ts';
import { successResult } from '../results/result.ts';
import { besideForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';
import { answerRefusals, SAVE_SECONDS } from './profile-access.ts';

/** D1, for agents whose policy names it. */
export const restoreProfile = defineTool({
  name: 'restoreProfile',
  seconds: SAVE_SECONDS,
  effect: 'acts',
  whileTainted: 'exempt',
  shorter: null,
  custom: besideForm({
    sets: ['playwright', 'core', 'compat', 'both'],
    title: 'Restore profile',
    description:
      'Make an older version of a profile that no browser has the current one; the version before it unless given',
    input: { profileName, version: z.int().min(1).optional() },
    output: { version: z.int().optional() },
    run: ({ profileName: name, version }, { lease: { profiles }, signal }) =>
      answerRefusals(async () =>
        successResult({ profileName: name, version: await profiles.restore(name, version, signal) }),
      ),
  }),
});
