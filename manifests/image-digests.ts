import * as z from 'zod';

/** The registry's answer to a push; null until then. A digest of one repeated digit was made up. */
const digest = z
  .string()
  .regex(/^sha256:(?!(.)\1{63}$)[0-9a-f]{64}$/)
  .nullable();
const digests = z.strictObject({ controller: digest, runner: digest, egress: digest, console: digest });
const file = z.strictObject({ dev: digests, prod: digests });

/** The remedy for images that are not pushed. */
export const pushFirst = (environment: string): string =>
  `not pushed: run "npm run images -- --push ${environment}", then "npm run manifests"`;

/** Reads what `images.json` holds. Throws an Error for a digest that no registry can have given. */
export function imageDigests(content: unknown): z.infer<typeof file> {
  const { success, data, error } = file.safeParse(content);
  if (success) return data;
  const [environment, image] = error.issues[0]?.path ?? [];
  throw new Error(
    `manifests/images.json: ${String(environment)}.${String(image)} must be the digest of a pushed image, or null where it is ${pushFirst(String(environment))}.`,
  );
}
