import {
  DecryptCommand,
  EncryptCommand,
  IncorrectKeyException,
  InvalidCiphertextException,
  KMSClient,
} from '@aws-sdk/client-kms';
import { OmicronError } from '../../contract/problem.ts';
import type { KeyWrap } from '../ports/key-wrap.ts';

export interface KmsOptions {
  readonly keyArn: string;
  /** A KMS other than AWS's. */
  readonly endpoint?: string;
}

/**
 * Wraps under a key that never leaves KMS. The user is the encryption context: it is in CloudTrail with every use, and a wrapped key
 * opens for no other user. <https://docs.aws.amazon.com/kms/latest/developerguide/encrypt_context.html>
 */
export function kmsWrap({ keyArn, endpoint }: KmsOptions): KeyWrap {
  const region = keyArn.split(':')[3];
  const client = new KMSClient({ maxAttempts: 3, ...(region && { region }), ...(endpoint && { endpoint }) });
  const common = (userId: string) => ({ KeyId: keyArn, EncryptionContext: { user_id: userId } });
  return {
    async wrap(dataKey, userId) {
      const sent = client.send(new EncryptCommand({ ...common(userId), Plaintext: dataKey }));
      const { CiphertextBlob } = await sent.catch(throwUnavailable);
      return bytesOf(CiphertextBlob).toString('base64');
    },
    async unwrap(wrapped, userId) {
      const CiphertextBlob = Buffer.from(wrapped, 'base64');
      const sent = client.send(new DecryptCommand({ ...common(userId), CiphertextBlob }));
      return bytesOf((await sent.catch(throwUnavailable)).Plaintext);
    },
  };
}

const bytesOf = (bytes: Uint8Array | undefined): Buffer => {
  if (bytes === undefined) throw new OmicronError('profile_unavailable', 'KMS answered without a key.');
  return Buffer.from(bytes);
};

function throwUnavailable(cause: unknown): never {
  const wrong = cause instanceof InvalidCiphertextException || cause instanceof IncorrectKeyException;
  const detail = wrong
    ? "The user's profile key does not open under this deployment's KMS key; restore the key that wrapped it."
    : "KMS did not answer for the key of profiles; check the controller's role and its way to KMS, and try again.";
  throw new OmicronError('profile_unavailable', detail, { cause });
}
