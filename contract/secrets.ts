import * as z from 'zod';
import { credentialUrl } from './policy/credential-target.ts';
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

/** A chain of certificates and its key are a few kilobytes. */
const CERTIFICATE_MAX = 65_536;
const pem = (label: string) =>
  z
    .string()
    .max(CERTIFICATE_MAX)
    .refine(text => new RegExp(`-----BEGIN (?:[A-Z]+ )?${label}-----`).test(text) && isStorable(text), {
      message: `must be PEM (-----BEGIN ${label}-----)`,
    });

export const clientCertificate = z
  .strictObject({
    certificate: pem('CERTIFICATE')
      .optional()
      .describe('Certificate in PEM, its chain after it where the site needs that.'),
    key: pem('PRIVATE KEY').optional().describe('Private key of the certificate in PEM.'),
    pkcs12: z
      .base64()
      .min(1)
      .max(CERTIFICATE_MAX)
      .optional()
      .describe(
        'Certificate and key in one PKCS#12 file (.p12, .pfx), as base64; in place of `certificate` and `key`.',
      ),
    passphrase: secretText.optional().describe('Passphrase of the key or of the PKCS#12 file.'),
  })
  .refine(
    ({ certificate, key, pkcs12 }) =>
      (certificate !== undefined) === (key !== undefined) && (certificate === undefined) !== (pkcs12 === undefined),
    { message: 'must have a certificate and its key, or a PKCS#12 file' },
  )
  .meta({ id: 'ClientCertificate' });
export type ClientCertificate = z.infer<typeof clientCertificate>;

export const credentialSchema = z
  .strictObject({
    username: secretText
      .optional()
      .describe('Name of the login. Left out, with the password, for a client certificate alone.'),
    password: secretText.optional().describe('Password of the login.'),
    client_certificate: clientCertificate
      .optional()
      .describe(
        "Certificate that the browser shows to the site where the site asks for one in TLS; no agent's name for it.",
      ),
    totp: totpSeed
      .optional()
      .describe(
        'TOTP seed: base32 (RFC 4648) or an `otpauth://totp/` URI. It never leaves the controller; runners get the current code.',
      ),
    url: z
      .union([credentialUrl, z.array(credentialUrl).min(1).max(64)])
      .optional()
      .describe(
        'Places where it may be filled: https addresses, whose origin counts, or registrable domains. Left out: the policies and the site key decide.',
      ),
  })
  .refine(({ username, password }) => (username === undefined) === (password === undefined), {
    message: 'must have a username and a password, or neither',
  })
  .refine(({ username, client_certificate }) => username !== undefined || client_certificate !== undefined, {
    message: 'must have a username and a password, or a client certificate',
  })
  .refine(({ password, totp }) => totp === undefined || password !== undefined, {
    message: 'must have a username and a password beside the TOTP seed',
  })
  .meta({ id: 'Credential' });
export interface Credential extends z.infer<typeof credentialSchema> {}

/** The targets of a credential's own url. */
export const urlTargets = ({ url }: Pick<Credential, 'url'>): string[] | undefined =>
  typeof url === 'string' ? [url] : url;

/** The vault document of one user (O8), as far as it can be used. */
export interface VaultDocument {
  readonly credentials: Readonly<Record<string, Credential>>;
  /** Why an entry cannot be used, by its key; never with its values. */
  readonly unusable: Readonly<Record<string, string>>;
  /** Why the whole document cannot be used. */
  readonly fault?: string;
}

/** Name of a user's document in the vault; derived, never taken from a caller (O8). */
export const vaultSecretName = (userId: string): string => `pw_site_creds__${userId}`;

const envName = (site: string): string => site.toUpperCase().replace(/[^A-Z0-9]/g, '_');

/** `{walmart: {username, password}}` -> `{WALMART_USERNAME, WALMART_PASSWORD}`, the form of Playwright MCP's `--secrets`. */
export const secretsOf = ({ credentials }: Pick<VaultDocument, 'credentials'>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(credentials).flatMap(([site, { username, password }]) => {
      if (username === undefined || password === undefined) return [];
      const [usernameName = '', passwordName = ''] = secretNames(site);
      return [
        [usernameName, username],
        [passwordName, password],
      ];
    }),
  );

/** Whether two site keys have the same secret names (`a-b` and `a.b`), so that one's password could go where the other's is meant. */
export const sameNames = (one: string, other: string): boolean => one !== other && envName(one) === envName(other);

export const credentialList = z
  .object({
    sites: z
      .array(
        z.object({
          site: z.string().describe('Site key: the name of the credential.'),
          secret_names: z
            .array(z.string())
            .describe(
              'Names that an agent uses instead of the values; empty for a client certificate alone and for a credential that cannot be used.',
            ),
          client_certificate: z
            .boolean()
            .optional()
            .describe(
              'The browser has a client certificate for the site. It is shown where the credential may be filled.',
            ),
          url: z.array(z.string()).optional().describe('Its own url, if it has one.'),
          filled_on: z
            .array(z.string())
            .describe(
              "Https origins and registrable domains that the credential's url and the policies of deployment and user allow.",
            ),
          problem: z
            .string()
            .nullable()
            .describe('Reason why it is filled nowhere, and what to do; null where it is filled somewhere.'),
        }),
      )
      .describe('Credentials of the user, by site key; never a value.'),
  })
  .meta({ id: 'CredentialList' });
export interface CredentialList extends z.infer<typeof credentialList> {}

/** Names that an agent uses instead of the values. */
export const secretNames = (site: string): string[] => [`${envName(site)}_USERNAME`, `${envName(site)}_PASSWORD`];
