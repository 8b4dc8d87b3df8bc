import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, Verifier } from '@sigstore/verify';
import * as z from 'zod';
import { MEDIA } from './contents.ts';

/** An in-toto statement: <https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md>. */
const statement = z.object({
  _type: z.literal('https://in-toto.io/Statement/v1'),
  subject: z.array(z.object({ digest: z.object({ sha256: z.string() }) })).min(1),
  predicateType: z.string(),
  predicate: z.unknown(),
});
export type InTotoStatement = z.infer<typeof statement>;

/** The name of a key in bundles, as cosign writes it. */
export const keyHint = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('base64');

export function readPublicKey(pem: string, name: string): KeyObject {
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType === 'ec') return key;
  } catch {
    // said below
  }
  throw new Error(`${name} is no public key in PEM: an EC key, such as cosign.pub, is wanted`);
}

/** The statement of a bundle that this key signed. Throws why it is not one. */
export function verifyStatement(bundle: Buffer, key: KeyObject): InTotoStatement {
  const parsed = bundleFromJSON(JSON.parse(bundle.toString()));
  if (parsed.content.$case !== 'dsseEnvelope') throw new Error('the bundle has no statement');
  const material = parsed.verificationMaterial.content;
  const hint = material.$case === 'publicKey' ? material.publicKey.hint : '';
  if (hint !== keyHint(key)) throw new Error(`it is signed by another key (${hint || 'a certificate'})`);
  const trust = {
    certificateAuthorities: [],
    timestampAuthorities: [],
    tlogs: [],
    ctlogs: [],
    publicKey: () => ({ publicKey: key, validFor: () => true }),
  };
  const verifier = new Verifier(trust, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 });
  try {
    verifier.verify(toSignedEntity(parsed));
  } catch {
    throw new Error('its signature does not fit its text: it was changed');
  }
  const { payload, payloadType } = parsed.content.dsseEnvelope;
  if (payloadType !== MEDIA.statement) throw new Error(`the bundle has a ${payloadType}`);
  return statement.parse(JSON.parse(Buffer.from(payload).toString()));
}
