import * as z from 'zod';
import { successResult } from '../results/result.ts';
import { besideForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';
import { answerRefusals, SAVE_SECONDS } from './profile-access.ts';

/** D1, for agents whose policy names it. */
export const snapshotProfile = defineTool({
  name: 'snapshotProfile',
  seconds: SAVE_SECONDS,
  effect: 'moves',
  whileTainted: 'exempt',
  shorter: null,
  custom: besideForm({
    sets: ['playwright', 'core', 'compat', 'both'],
    title: 'Save profile',
    description: "Save this browser's logins in its profile now",
    input: {},
    output: { version: z.int().optional() },
    run: (_args, { lease: { profiles } }) =>
      answerRefusals(async () => {
        return successResult({ version: await profiles.snapshot() });
      }),
  }),
});
