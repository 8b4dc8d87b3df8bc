import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { DSSEBundleBuilder } from '@sigstore/sign';
import { keyHint } from '../../cli/verify/publisher.ts';
import type { StatementSigner } from './sign.ts';

/** A private key in PEM, with its passphrase where it has one. */
export function readPrivateKey(pem: string, name: string, passphrase?: string): KeyObject {
  try {
    const key = createPrivateKey({ key: pem, ...(passphrase ? { passphrase } : {}) });
    if (key.asymmetricKeyType === 'ec') return key;
  } catch {
    // said below
  }
  throw new Error(
    `${name} is no EC private key in PEM that can be read: make one by "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256"`,
  );
}

/** Signs by a key that is kept, with no authority and no log. */
export function keySigner(key: KeyObject): StatementSigner {
  const hint = keyHint(createPublicKey(key));
  const builder = new DSSEBundleBuilder({
    signer: {
      sign: async data => ({
        signature: sign('sha256', data, key),
        key: { $case: 'publicKey', publicKey: '', hint },
      }),
    },
    witnesses: [],
  });
  return statement => builder.create(statement);
}
