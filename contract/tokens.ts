import { createHash, createHmac, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { type CryptoKey, errors, type JWK, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import * as z from 'zod';
import { type LeaseKey, leaseKey } from './lease-key.ts';
import { AUDIENCES, ENV, ISSUER } from './names.ts';
import { OmicronError } from './problem.ts';

/** Service tokens live 60 s at most and clocks may differ by 5 s (O5). */
export const SERVICE_TOKEN_SECONDS = 60;
export const CLOCK_SKEW_SECONDS = 5;

const serviceClaims = z.object({
  iat: z.number().optional(),
  exp: z.number(),
  /** Limits the call to this user: other users' sessions are not found. */
  user_id: z.string().optional(),
  /** The person for whom the caller acts (RFC 8693, section 4.1). Others may use the claim in a form of their own. */
  act: z
    .object({
      sub: z.string().min(1).max(256),
      name: z.string().max(256).optional(),
      via: z.string().max(32).optional(),
    })
    .optional()
    .catch(undefined),
});

/** A person for whom a service calls: its id and name there, and the service. */
export type Actor = NonNullable<z.infer<typeof serviceClaims>['act']>;

/** The claim that does not fit, and why: for example a user id that is a number. */
const wrongClaim = ({ issues: [issue] }: z.ZodError): string =>
  `"${issue?.path.join('.')}" is wrong (${issue?.message.replace(/^Invalid input: /, '')}): a "user_id" is a text such as "42"`;

/** `secretName`: the variable whose value signs such tokens, where a caller has it. */
const invalidToken = (cause: unknown, secretName?: string) => {
  const why =
    cause instanceof errors.JWSSignatureVerificationFailed && secretName !== undefined
      ? `it was signed with another secret than this service's ${secretName}; give both sides the same value`
      : cause instanceof errors.JWTExpired
        ? 'it has expired; sign a new one for each call'
        : cause instanceof errors.JWTClaimValidationFailed
          ? `its claim "${cause.claim}" is wrong`
          : cause instanceof z.ZodError
            ? `its claim ${wrongClaim(cause)}`
            : cause instanceof errors.JOSEAlgNotAllowed
              ? 'its algorithm is not allowed'
              : 'it is not a token signed for this service';
  return new OmicronError('unauthorized', `The bearer token was refused: ${why}.`, { cause });
};

const tooLong = () =>
  new OmicronError(
    'unauthorized',
    `The bearer token was refused: its exp must be within ${SERVICE_TOKEN_SECONDS} s of now, and of its iat if it has one. Sign a token for each call, and check the clock.`,
  );

/** HS256 keys have at least 256 bits: <https://www.rfc-editor.org/rfc/rfc7518#section-3.2>. */
export const SERVICE_SECRET_BYTES_MIN = 32;

export function serviceKey(secret: string): Uint8Array {
  const bytes = new TextEncoder().encode(secret);
  if (bytes.length < SERVICE_SECRET_BYTES_MIN)
    throw new Error(`the service JWT secret must have at least ${SERVICE_SECRET_BYTES_MIN} bytes`);
  return bytes;
}

const imported = new WeakMap<Uint8Array, Promise<CryptoKey>>();

/** jose imports a raw secret at every use; this imports it once. */
function hmacKey(secret: Uint8Array): Promise<CryptoKey> {
  const known = imported.get(secret);
  if (known) return known;
  const bytes = new Uint8Array(secret); // a copy: WebCrypto takes no shared memory
  const key = crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
  imported.set(secret, key);
  return key;
}

/**
 * Signs a call to the controller: the API's, or another service's by its `audience`. With `userId` it is valid for
 * that user only.
 */
export async function signServiceToken(
  key: Uint8Array,
  userId?: string,
  audience: string = AUDIENCES.controller,
  act?: Actor,
): Promise<string> {
  // In JavaScript it may be the number that it is in a database.
  if (userId !== undefined && typeof userId !== 'string')
    throw new OmicronError('invalid_request', `The user id must be a text such as "42", not a ${typeof userId}.`);
  const now = Math.floor(Date.now() / 1000); // read once: two readings can make the token a second too long
  return new SignJWT({ user_id: userId, act })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setAudience(audience)
    .setIssuedAt(now)
    .setExpirationTime(now + SERVICE_TOKEN_SECONDS)
    .sign(await hmacKey(key));
}

/**
 * Throws `unauthorized` unless the token is HS256, for this audience, unexpired and at most 60 s long. Its `exp` bounds it by
 * this clock, so that a token needs no `iat`; one that has an `iat` is bounded by that too, whenever it is presented.
 */
export async function verifyServiceToken(
  key: Uint8Array,
  token: string,
  audience: string = AUDIENCES.controller,
): Promise<{ userId: string | undefined; act: Actor | undefined }> {
  try {
    const { payload } = await jwtVerify(token, await hmacKey(key), {
      algorithms: ['HS256'],
      audience,
      clockTolerance: CLOCK_SKEW_SECONDS,
      requiredClaims: ['exp'],
    });
    const { iat, exp, user_id, act } = serviceClaims.parse(payload);
    const latest = Date.now() / 1000 + CLOCK_SKEW_SECONDS;
    const issued = iat ?? latest;
    if (issued > latest || exp - issued > SERVICE_TOKEN_SECONDS) throw tooLong();
    return { userId: user_id, act };
  } catch (cause) {
    if (cause instanceof OmicronError) throw cause;
    throw invalidToken(cause, audience === AUDIENCES.egress ? ENV.egressSecret : ENV.serviceSecret);
  }
}

/** Ed25519: <https://www.rfc-editor.org/rfc/rfc8037>. */
const ALG = 'EdDSA';

/** A key pair of the controller: the private JWK signs, runners get the public one. */
export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicJwk: JWK;
}

const ed25519Jwk = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  d: z.string(),
  kid: z.string().optional(),
});

/** Reads an Ed25519 private key (JWK as JSON). */
export function signingKey(json: string): SigningKey {
  const { d, ...jwk } = ed25519Jwk.parse(JSON.parse(json));
  const kid = jwk.kid ?? createHash('sha256').update(jwk.x).digest('hex').slice(0, 16);
  const privateKey = createPrivateKey({ key: { ...jwk, d }, format: 'jwk' });
  return { kid, privateKey, publicJwk: { ...jwk, kid, alg: ALG, use: 'sig' } };
}

/**
 * Signs a token of the controller. Times are the database's, in milliseconds since 1970. In this thread: jose would hand the
 * signature to the thread pool, which takes longer than signing, three times in each start of a lease.
 */
export function signControllerToken(
  key: SigningKey,
  audience: string | string[],
  claims: JWTPayload,
  times: { nowMs: number; seconds: number },
): string {
  const iat = Math.floor(times.nowMs / 1000);
  const header = { alg: ALG, typ: 'JWT', kid: key.kid };
  const payload = { ...claims, iss: ISSUER, aud: audience, iat, exp: iat + times.seconds };
  const signed = `${base64urlJson(header)}.${base64urlJson(payload)}`;
  return `${signed}.${sign(null, Buffer.from(signed), key.privateKey).toString('base64url')}`;
}

const base64urlJson = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** The public keys that verify the controller's tokens, by `kid`. */
export type ControllerKeys = ReadonlyMap<string, KeyObject>;

/** Reads a JWKS (as JSON). */
export const controllerKeys = (jwks: string): ControllerKeys =>
  new Map(
    jwksSchema.parse(JSON.parse(jwks)).keys.map(jwk => [jwk.kid, createPublicKey({ key: { ...jwk }, format: 'jwk' })]),
  );
const jwksSchema = z.object({
  keys: z
    .array(z.looseObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string(), kid: z.string() }))
    .min(1),
});

/** Nothing else: a header that this does not know may change what a signature stands for (`crit`, `b64`). */
const controllerHeader = z.strictObject({ alg: z.literal(ALG), typ: z.literal('JWT'), kid: z.string() });
const controllerPayload = z.looseObject({
  iss: z.literal(ISSUER),
  aud: z.union([z.string(), z.array(z.string())]),
  iat: z.int(),
  exp: z.int(),
});

/**
 * Checks signature, algorithm, issuer and audience, and parses the claims. Does not check `exp`: the caller passes
 * `expMs` to the database, whose clock alone decides; a runner, whose clock may be wrong, leaves it to the broker. In this
 * thread, as it was signed (ADR 0054, 0059). Throws `unauthorized`.
 */
export async function verifyControllerToken<T extends z.ZodType>(
  keys: ControllerKeys,
  audience: string | string[],
  token: string,
  schema: T,
): Promise<{ claims: z.output<T>; expMs: number }> {
  try {
    const [header = '', payload = '', signature = '', ...rest] = token.split('.');
    const key = keys.get(controllerHeader.parse(parsedPart(header)).kid);
    const signed = Buffer.from(`${header}.${payload}`);
    if (rest.length > 0 || !key || !verify(null, signed, key, Buffer.from(signature, 'base64url')))
      throw new errors.JWSSignatureVerificationFailed();
    const claims = controllerPayload.parse(parsedPart(payload));
    if (![claims.aud].flat().some(each => [audience].flat().includes(each)))
      throw new errors.JWTClaimValidationFailed('unexpected "aud" claim value', claims, 'aud');
    return { claims: schema.parse(claims), expMs: claims.exp * 1000 };
  } catch (cause) {
    throw invalidToken(cause);
  }
}

const parsedPart = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());

/**
 * Identifies one redemption in an assignment. It names the user, so that the redemption is one
 * statement.
 */
export const brokerClaims = leaseKey.extend({ claim_id: z.uuid(), boot_id: z.uuid(), user_id: z.string() });
export type BrokerClaims = z.infer<typeof brokerClaims>;

/**
 * Bearer token of a lease's `/mcp`: derived, so that every replica can compute it and nothing stores it. The runner
 * has its SHA-256 only.
 */
export function mcpToken(derivationKey: Uint8Array, lease: LeaseKey): string {
  return createHmac('sha256', derivationKey)
    .update(`mcp\n${lease.session_id}\n${lease.epoch}\n${lease.runner_id}`)
    .digest('base64url');
}

/** The credential of a lease's browser at the egress proxy: derived like `mcpToken`, stored nowhere. */
export const egressCredential = (derivationKey: Uint8Array, lease: LeaseKey): string =>
  proxyCredential(derivationKey, 'egress', lease);

/** The uploader's: it opens the artifact store alone, while videos are awaited. */
export const uploadCredential = (derivationKey: Uint8Array, lease: LeaseKey): string =>
  proxyCredential(derivationKey, 'upload', lease);

const proxyCredential = (derivationKey: Uint8Array, purpose: 'egress' | 'upload', lease: LeaseKey): string =>
  createHmac('sha256', derivationKey)
    .update(`${purpose}\n${lease.session_id}\n${lease.epoch}\n${lease.runner_id}`)
    .digest('base64url');

export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * Label value for a user: keyed, so that a known user id cannot be looked up, and cut to 32 of the 63 characters that
 * Kubernetes allows:
 * <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set>.
 */
export const userIdHash = (derivationKey: Uint8Array, userId: string): string =>
  createHmac('sha256', derivationKey).update(`user\n${userId}`).digest('hex').slice(0, 32);
