import * as z from 'zod';
import { successResult } from '../results/result.ts';
import { besideForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';
import { answerRefusals } from './profile-access.ts';

/** D1, for agents whose policy names it. */
export const listProfiles = defineTool({
  name: 'listProfiles',
  seconds: 10,
  effect: 'reads',
  whileTainted: 'exempt',
  shorter: null,
  custom: besideForm({
    sets: ['playwright', 'core', 'compat', 'both'],
    title: 'List profiles',
    description: 'Saved logins of this user, by name',
    input: {},
    output: { profiles: z.array(z.object({ name: z.string() })).optional() },
    run: (_args, { lease: { profiles }, signal }) =>
      answerRefusals(async () =>
        successResult({
          profiles: (await profiles.list(signal)).map(({ name, version, saved_at, domains, writer_session_id }) => ({
            name,
            version,
            savedAt: saved_at,
            inUse: writer_session_id !== null,
            loggedIn: domains.flatMap(({ domain, logged_in }) => (logged_in ? [domain] : [])),
          })),
        }),
      ),
  }),
});
