import * as z from 'zod';

/** Body of the console's `POST /api/users/{user_id}/credentials/{site}/test`. */
export const credentialTestRequest = z.strictObject({
  /** The page with the site's login form. */
  url: z.url({ protocol: /^https?$/ }).max(2_048),
});

/** Outcome of a login that a test tried. */
export const credentialTest = z.object({
  /** `browser_login`'s status; `unreachable`: the page was not shown; `no_form`: it has no field for a password or a username. */
  status: z.string(),
  /** A sentence for the person. */
  message: z.string(),
  /** Address of the browser at the end. */
  url: z.string().nullable(),
  /** Picture of the page at the end, a JPEG in base64; null: none could be taken. */
  picture: z.string().nullable(),
});
export type CredentialTest = z.infer<typeof credentialTest>;
