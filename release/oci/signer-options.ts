import { readFile } from 'node:fs/promises';
import { identityOfJob, keylessSigner, PUBLIC_SERVICES, type Services } from './keyless.ts';
import type { StatementSigner } from './sign.ts';
import { keySigner, readPrivateKey } from './signing-key.ts';

/** Options of `release sign` that say who signs. */
export interface SignerOptions {
  readonly key?: string;
  readonly identityToken?: string;
  readonly fulcio?: string;
  readonly rekor?: string;
  readonly rekorVersion?: '1' | '2';
  readonly timestampAuthority?: string;
}

/** The key or the identity that signs. Throws, before anything is asked for or written, where it is neither or both. */
export async function readSigner(
  { key, identityToken, ...services }: SignerOptions,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<StatementSigner> {
  if (key !== undefined) {
    const others = Object.entries({ identityToken, ...services }).filter(([, value]) => value !== undefined);
    if (others.length > 0)
      throw new Error(
        `--key signs without an identity: leave out ${others.map(([name]) => optionOf(name)).join(', ')}`,
      );
    return keySigner(readPrivateKey(await readFileOf('--key', key), key, environment.OMICRON_KEY_PASSPHRASE));
  }
  const where = readServices(services);
  if (identityToken === undefined) {
    const token = identityOfJob(environment);
    if (token) return keylessSigner(token, where);
    throw new Error(
      'no signer is named: name a key by --key, or a file with a token by --identity-token, or run it in a job that has an identity (GitHub: "permissions: {id-token: write}"; GitLab: "id_tokens: {SIGSTORE_ID_TOKEN: {aud: sigstore}}")',
    );
  }
  const token = (await readFileOf('--identity-token', identityToken)).trim();
  return keylessSigner(async () => token, where);
}

/** Sigstore's public services, or all that is named: what is private must not end in a public log. */
function readServices({ fulcio, rekor, rekorVersion, timestampAuthority }: SignerOptions): Services {
  for (const [name, url] of Object.entries({ fulcio, rekor, timestampAuthority }))
    if (url !== undefined && !/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
      throw new Error(`${optionOf(name)} ${url} is no URL, e.g. https://${optionOf(name).slice(2)}.example.com`);
  if (fulcio === undefined && rekor === undefined && rekorVersion === undefined && timestampAuthority === undefined)
    return PUBLIC_SERVICES;
  if (fulcio === undefined) throw new Error('name the authority of certificates too, by --fulcio');
  if (timestampAuthority === undefined && (rekor === undefined || rekorVersion === '2'))
    throw new Error(
      'name a --timestamp-authority: nothing else proves when it was signed, as a --rekor of version 1 would',
    );
  if (rekor === undefined && rekorVersion !== undefined)
    throw new Error('--rekor-version is of a --rekor: name it too');
  return {
    fulcio: base(fulcio),
    ...(rekor ? { rekor: { url: base(rekor), version: rekorVersion === '2' ? 2 : 1 } } : {}),
    ...(timestampAuthority ? { timestampAuthority: base(timestampAuthority) } : {}),
  };
}

const base = (url: string): string => url.replace(/\/+$/, '');
const optionOf = (name: string): string => `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;

const readFileOf = (option: string, file: string): Promise<string> =>
  readFile(file, 'utf8').catch(() => {
    throw new Error(`${option} ${file} cannot be read`);
  });
