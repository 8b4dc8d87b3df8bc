import { createHmac, randomBytes } from 'node:crypto';

/** Secrets are written so, and the bytes after it in base64: <https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>. */
const SECRET_PREFIX = 'whsec_';
/** The specification asks for 24 to 64. */
const SECRET_BYTES = 32;

export const newWebhookSecret = (): string => `${SECRET_PREFIX}${randomBytes(SECRET_BYTES).toString('base64')}`;

/** The headers of one attempt; the signature holds one for each secret. */
export function webhookHeaders(
  secrets: readonly string[],
  message: { id: string; timestampSeconds: number; body: string },
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const { id, timestampSeconds, body } = message;
  const sign = (secret: string): string => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`;
  };
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': secrets.map(sign).join(' '),
  };
}
