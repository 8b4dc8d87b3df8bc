import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { ENV } from '../contract/names.ts';

const randomSecret = (): string => randomBytes(32).toString('base64');

/** Name of a key in tokens; what `contract/tokens.ts` gives a key without one. */
const keyId = (x: string): string => createHash('sha256').update(x).digest('hex').slice(0, 16);

/** The set of public keys that runners check the controller's tokens with, from its private key. */
export function publicKeysOf(signingKey: string): string {
  const { kty, crv, x, kid } = JSON.parse(signingKey) as Record<string, string>; // a JWK is strings
  if (kty !== 'OKP' || crv !== 'Ed25519' || x === undefined) throw new Error('the signing key is not an Ed25519 JWK');
  return JSON.stringify({ keys: [{ kty, crv, x, kid: kid ?? keyId(x), alg: 'EdDSA', use: 'sig' }] });
}

/** A new key that wraps the keys of users' profiles, for a controller without KMS. */
export const profileKeyValue = randomSecret;

/** New values of the controller's Secret, and the public keys that fit them. */
export function controllerSecretValues(databaseUrl: string): {
  values: Record<string, string>;
  publicKeys: string;
} {
  const signingKey = JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }));
  return {
    values: {
      [ENV.databaseUrl]: databaseUrl,
      [ENV.serviceSecret]: randomSecret(),
      [ENV.egressSecret]: randomSecret(),
      [ENV.signingKey]: signingKey,
      [ENV.derivationKey]: randomSecret(),
    },
    publicKeys: publicKeysOf(signingKey),
  };
}
