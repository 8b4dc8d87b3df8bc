import { hkdfSync } from 'node:crypto';
import { OmicronError } from '../../contract/problem.ts';
import type { KeyWrap } from '../ports/key-wrap.ts';
import { decrypt, encrypt } from './aes-gcm.ts';

/** Wraps under a key of the deployment's own settings (32 bytes or more), from which a key for this purpose is derived. */
export function keyFileWrap(secret: Uint8Array): KeyWrap {
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'omicron profile keys', 32));
  const context = (userId: string) => `profile key\n${userId}`;
  return {
    wrap: async (dataKey, userId) => encrypt(key, dataKey, context(userId)).toString('base64'),
    async unwrap(wrapped, userId) {
      try {
        return decrypt(key, Buffer.from(wrapped, 'base64'), context(userId));
      } catch (cause) {
        const detail =
          "The user's profile key does not open under this deployment's key; restore the key that wrapped it.";
        throw new OmicronError('profile_unavailable', detail, { cause });
      }
    },
  };
}
