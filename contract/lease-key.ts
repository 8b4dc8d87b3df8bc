import * as z from 'zod';

/** A lease's epoch, a Postgres integer: it rises by one with each claim of the session. */
export const epoch = z.int().min(1).max(2_147_483_647);

/** Names one lease: an epoch has one runner. Tokens and reports of a lease carry it. */
export const leaseKey = z.object({ session_id: z.uuid(), epoch, runner_id: z.uuid() });
export type LeaseKey = z.infer<typeof leaseKey>;
