import * as z from 'zod';

/** A link that signs one person in to the console, once. */
export const consoleLink = z.object({ link: z.url() });
export type ConsoleLink = z.infer<typeof consoleLink>;
