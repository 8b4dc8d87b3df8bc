import { Secret, TOTP, URI } from 'otpauth';

/**
 * The code of the moment for a seed: base32, or an `otpauth://totp/` URI with its own digits, period and algorithm (B3).
 * <https://www.rfc-editor.org/rfc/rfc6238>
 */
export function totpCode(seed: string, nowMs: number): { code: string; valid_ms: number } {
  const parsed = seed.startsWith('otpauth://')
    ? URI.parse(seed)
    : new TOTP({ secret: Secret.fromBase32(seed.replaceAll(' ', '').toUpperCase()) });
  if (!(parsed instanceof TOTP)) throw new Error('the seed is not a TOTP seed');
  return { code: parsed.generate({ timestamp: nowMs }), valid_ms: parsed.remaining({ timestamp: nowMs }) };
}
