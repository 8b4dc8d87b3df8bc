import * as z from 'zod';

export const sessionId = z.uuid().describe('Id of the session.');
export const runnerId = z.uuid().describe('Id of the runner.');

/** A Postgres integer. */
export const epoch = z
  .int()
  .min(1)
  .max(2_147_483_647)
  .describe('Number of the lease of its session: it rises by one with each claim of the session.');

/** Names one lease: an epoch has one runner. Tokens and reports of a lease carry it. */
export const leaseKey = z.object({ session_id: sessionId, epoch, runner_id: runnerId });
export type LeaseKey = z.infer<typeof leaseKey>;
