import * as z from 'zod';

/** Routes of the console's server that are its own; all others under `/api` are the controller's. */
export const CONSOLE_ROUTES = {
  /** `POST {token}` signs in, `DELETE` signs out. */
  signIn: '/api/sign-in',
  /** `POST` with a service token (audience `console-links`) makes a link. */
  links: '/api/links',
} as const;

/** A link that signs one person in, once. */
export const consoleLink = z.object({ link: z.url() });
export type ConsoleLink = z.infer<typeof consoleLink>;
