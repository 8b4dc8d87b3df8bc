import * as z from 'zod';

/** A lease's epoch, as the database counts it: it rises by one each time the session is claimed anew. */
export const epoch = z.int().min(1).max(2_147_483_647);

/** Whose lease this is: one epoch is one runner, so these three name one lease. Tokens and reports of a lease carry it. */
export const leaseKey = z.object({ session_id: z.uuid(), epoch, runner_id: z.uuid() });
export type LeaseKey = z.infer<typeof leaseKey>;
