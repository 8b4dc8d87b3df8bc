import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import * as z from 'zod';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** State kept in a cookie that only the console reads and writes: it takes no memory of the console, and survives a restart. */
export interface SealedCookie<T> {
  seal(value: T, expiresMs: number): string;
  /** Undefined: it is not of this console, or has expired. */
  open(sealed: string, nowMs: number): T | undefined;
}

/** `purpose` keeps one cookie from being read as another. */
export function sealedCookie<T>(secret: Uint8Array, purpose: string, schema: z.ZodType<T>): SealedCookie<T> {
  const key = Buffer.from(hkdfSync('sha256', secret, '', `omicron-browser console ${purpose}`, 32));
  const content = z.object({ value: schema, expiresMs: z.number() });
  return {
    seal(value, expiresMs) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce);
      const sealed = Buffer.concat([cipher.update(JSON.stringify({ value, expiresMs })), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
    },
    open(sealed, nowMs) {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined;
      try {
        const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
        decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        const plain = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
        const { value, expiresMs } = content.parse(JSON.parse(plain.toString()));
        return expiresMs > nowMs ? (value as T) : undefined; // parsed by the schema
      } catch {
        return undefined;
      }
    },
  };
}
