import { crypto, dsse } from '@sigstore/core';
import { HashAlgorithm } from '@sigstore/protobuf-specs';
import {
  CIContextProvider,
  DEFAULT_FULCIO_URL,
  DEFAULT_REKOR_URL,
  DSSEBundleBuilder,
  FulcioSigner,
  RekorWitness,
  TSAWitness,
  type Witness,
} from '@sigstore/sign';
import { decodeJwt } from 'jose';
import { hasGithubIdentity, hasGitlabIdentity } from '../job-identity.ts';
import type { StatementSigner } from './sign.ts';

/** Addresses of a Sigstore: the authority of certificates, and whatever proves when one was used. */
export interface Services {
  readonly fulcio: string;
  readonly rekor?: { readonly url: string; readonly version: 1 | 2 };
  readonly timestampAuthority?: string;
}

/** Sigstore's public services: <https://docs.sigstore.dev/about/overview/>. */
export const PUBLIC_SERVICES: Services = {
  fulcio: DEFAULT_FULCIO_URL,
  rekor: { url: DEFAULT_REKOR_URL, version: 1 },
};

/** Gives the token that says who signs. */
export type TokenSource = () => Promise<string>;

/** The identity of a job: GitHub's `id-token: write`, or GitLab's `id_tokens` as SIGSTORE_ID_TOKEN. Undefined: this is no such job. */
export function identityOfJob(environment: Readonly<Record<string, string | undefined>>): TokenSource | undefined {
  if (!hasGithubIdentity(environment) && !hasGitlabIdentity(environment)) return undefined;
  const provider = new CIContextProvider('sigstore');
  return async () => await provider.getToken();
}

// Rekor of version 2 answers once an entry is in the log: https://github.com/sigstore/rekor-tiles/blob/main/CLIENTS.md
const REQUESTS = { timeout: 20_000, retry: { retries: 2 } };

/** Signs by a key that lives for this run, which Fulcio certifies for the identity. No error holds the token. */
export function keylessSigner(token: TokenSource, services: Services): StatementSigner {
  const seen = new Set<string>();
  const identityProvider = {
    async getToken(): Promise<string> {
      const jwt = await token();
      seen.add(jwt);
      requireToken(jwt);
      return jwt;
    },
  };
  const { fulcio, rekor, timestampAuthority } = services;
  const witnesses = [
    ...(rekor
      ? [rekor.version === 1 ? new RekorWitness({ ...REQUESTS, rekorBaseURL: rekor.url }) : logOfVersion2(rekor.url)]
      : []),
    ...(timestampAuthority ? [new TSAWitness({ ...REQUESTS, tsaBaseURL: timestampAuthority })] : []),
  ];
  const signer = new FulcioSigner({ ...REQUESTS, fulcioBaseURL: fulcio, identityProvider });
  const builder = new DSSEBundleBuilder({ signer, witnesses });
  return async statement => {
    try {
      return await builder.create(statement);
    } catch (error) {
      // Sigstore's client hides some reasons in causes. A token in either is left out.
      const said = ['keyless signing failed', ...reasonsOf(error)].join(': ');
      throw new Error([...seen].reduce((text, jwt) => text.replaceAll(jwt, '<token>'), said));
    }
  };
}

/**
 * Rekor of version 2 has no entries of statements: what is logged is the digest of the signed text.
 * <https://github.com/sigstore/rekor-tiles/blob/main/CLIENTS.md#dsse--signed-attestations>
 */
function logOfVersion2(url: string): Witness {
  const log = new RekorWitness({ ...REQUESTS, rekorBaseURL: url, majorApiVersion: 2 });
  return {
    async testify(content, certificate) {
      if (content.$case !== 'dsseEnvelope') return await log.testify(content, certificate);
      const { payloadType, payload, signatures } = content.dsseEnvelope;
      const digest = crypto.digest('sha256', dsse.preAuthEncoding(payloadType, payload));
      const messageSignature = {
        messageDigest: { algorithm: HashAlgorithm.SHA2_256, digest },
        signature: signatures[0]?.sig ?? Buffer.alloc(0),
      };
      return await log.testify({ $case: 'messageSignature', messageSignature }, certificate);
    },
  };
}

function reasonsOf(error: unknown): readonly string[] {
  if (!(error instanceof Error)) return [String(error)];
  const { message, cause } = error;
  return [message, ...(cause instanceof Error && !message.includes(cause.message) ? reasonsOf(cause) : [])];
}

/** Refuses a token without a name in it: Sigstore's client would print it whole. */
function requireToken(jwt: unknown): asserts jwt is string {
  let claims: ReturnType<typeof decodeJwt>;
  try {
    claims = decodeJwt(String(jwt));
  } catch {
    throw new Error(
      'the identity token is no JWT: may the job ask for one (GitHub: "permissions: {id-token: write}")?',
    );
  }
  if (claims.email !== undefined ? !claims.email_verified : !claims.sub)
    throw new Error('the identity token names no subject and no verified email');
  if (claims.exp !== undefined && claims.exp * 1000 < Date.now())
    throw new Error(`the identity token expired at ${new Date(claims.exp * 1000).toISOString()}: get a fresh one`);
}
