import { Secret, TOTP, URI } from 'otpauth';
import type { TotpAnswer } from '../../contract/assignment.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { VaultDocument } from '../../contract/secrets.ts';

/** The current code for one site of a user's vault document. Throws `credential_not_found` when it has no seed. */
export function totpOfSite(document: VaultDocument | null, site: string, nowMs: number): TotpAnswer {
  const credential = document && Object.hasOwn(document.credentials, site) ? document.credentials[site] : undefined;
  if (credential?.totp === undefined)
    throw new OmicronError('credential_not_found', `No TOTP seed is stored for site "${site}" of this user.`);
  return totpCode(credential.totp, nowMs);
}

/**
 * The current code for a seed: base32, or an `otpauth://totp/` URI with its own digits, period and algorithm (B3).
 * <https://www.rfc-editor.org/rfc/rfc6238>
 */
export function totpCode(seed: string, nowMs: number): TotpAnswer {
  const parsed = seed.startsWith('otpauth://')
    ? URI.parse(seed)
    : new TOTP({ secret: Secret.fromBase32(seed.replaceAll(' ', '').toUpperCase()) });
  if (!(parsed instanceof TOTP)) throw new Error('the seed is not a TOTP seed');
  return { code: parsed.generate({ timestamp: nowMs }), valid_ms: parsed.remaining({ timestamp: nowMs }) };
}
