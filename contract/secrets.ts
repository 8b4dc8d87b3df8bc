import * as z from 'zod';
import { OmicronError } from './problem.ts';
import { isStorable } from './storable.ts';

/** The name of a credential in the vault document, e.g. `walmart`: the prefix of its secret names. */
export const siteKey = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'must be 1 to 64 letters, digits, dots, dashes or underscores');

const secretText = z.string().min(1).max(4096).refine(isStorable, { message: 'must be plain text' });

/** A TOTP seed: base32 (RFC 4648), as sites show it, or an `otpauth://totp/` URI. */
const totpSeed = z
  .string()
  .max(512)
  .regex(/^(otpauth:\/\/totp\/.+|[A-Za-z2-7 ]{16,}=*)$/, 'must be a base32 seed or an otpauth://totp/ URI');

export const credentialSchema = z
  .strictObject({
    username: secretText,
    password: secretText,
    /** B3: never leaves the controller; runners get the current code. */
    totp: totpSeed.optional(),
  })
  .meta({ id: 'Credential' });
export type Credential = z.infer<typeof credentialSchema>;

/** The vault document of one user (O8). */
export const vaultDocument = z.object({ credentials: z.record(siteKey, credentialSchema) });
export type VaultDocument = z.infer<typeof vaultDocument>;

/** Name of a user's document in the vault; derived, never taken from a caller (O8). */
export const vaultSecretName = (userId: string): string => `pw_site_creds__${userId}`;

const envName = (site: string): string => site.toUpperCase().replace(/[^A-Z0-9]/g, '_');

/**
 * `{walmart: {username, password}}` -> `{WALMART_USERNAME, WALMART_PASSWORD}`, the form of Playwright MCP's
 * `--secrets`. Throws when two site keys map to one name (`a-b` and `a.b`), so that no wrong password is filled
 * silently.
 */
export function secretsOf(document: VaultDocument): Record<string, string> {
  const secrets: Record<string, string> = {};
  for (const [site, { username, password }] of Object.entries(document.credentials)) {
    const name = envName(site);
    if (Object.hasOwn(secrets, `${name}_USERNAME`))
      throw new OmicronError(
        'secrets_unavailable',
        `Two sites map to ${name}_USERNAME; rename one of them (the second is "${site}").`,
      );
    secrets[`${name}_USERNAME`] = username;
    secrets[`${name}_PASSWORD`] = password;
  }
  return secrets;
}

/** Site keys and secret names of a user; never a value. */
export const credentialList = z
  .object({ sites: z.array(z.object({ site: siteKey, secret_names: z.array(z.string()) })) })
  .meta({ id: 'CredentialList' });
export type CredentialList = z.infer<typeof credentialList>;

/** Names that an agent uses instead of the values. */
export const secretNames = (site: string): string[] => [`${envName(site)}_USERNAME`, `${envName(site)}_PASSWORD`];
