import type * as z from 'zod';
import type { AskedUserAction, userActionRequest } from '../../contract/user-action.ts';

/** Asks the person of the lease, or goes on waiting for the answer to the same id. */
export type AskUser = (request: z.input<typeof userActionRequest>, signal: AbortSignal) => Promise<AskedUserAction>;
