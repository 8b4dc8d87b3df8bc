import { hkdfSync } from 'node:crypto';
import { OmicronError } from '../../contract/problem.ts';
import { decrypt, encrypt } from '../profiles/aes-gcm.ts';

/** Secrets of webhooks as the database holds them: each opens for its own webhook alone. */
export interface WebhookSecrets {
  seal(secret: string, webhookId: string): string;
  /** Throws `secrets_unavailable` where the key of the deployment is another one. */
  open(sealed: string, webhookId: string): string;
}

/** Sealed under a key that is derived from the deployment's own. */
export function sealedWebhookSecrets(derivationKey: Uint8Array): WebhookSecrets {
  const key = Buffer.from(hkdfSync('sha256', derivationKey, '', 'omicron webhook secrets', 32));
  const context = (webhookId: string) => `webhook secret\n${webhookId}`;
  return {
    seal: (secret, webhookId) => encrypt(key, Buffer.from(secret), context(webhookId)).toString('base64'),
    open(sealed, webhookId) {
      try {
        return decrypt(key, Buffer.from(sealed, 'base64'), context(webhookId)).toString();
      } catch (cause) {
        throw new OmicronError(
          'secrets_unavailable',
          'The secret of the webhook does not open under OMICRON_DERIVATION_KEY: restore that key, or delete the webhook and add it again.',
          { cause },
        );
      }
    },
  };
}
