import { createSecureContext } from 'node:tls';
import type { ClientCertificate } from '../../contract/secrets.ts';

/** OpenSSL's reasons, by the part of the message or the code that identifies them; none of its own texts is passed on. */
const FAULTS: readonly (readonly [RegExp, string])[] = [
  [/mac verify failure|bad decrypt|pkcs12 cipherfinal/i, 'cannot be opened: the passphrase is wrong'],
  [/password|passphrase|interrupted or cancelled/i, 'cannot be opened: the key has a passphrase, which is missing'],
  [
    /unsupported/i,
    'has an encryption that is no longer supported; write it anew ("openssl pkcs12 -legacy -in FILE -nodes", then "openssl pkcs12 -export")',
  ],
  [/key values mismatch/i, 'has a key that is not of the certificate'],
];

/** Why TLS does not take a client certificate; undefined: it does. Never with a value. */
export function certificateFault({ certificate, key, pkcs12, passphrase }: ClientCertificate): string | undefined {
  try {
    const phrase = passphrase === undefined ? {} : { passphrase };
    const context = createSecureContext(
      pkcs12 === undefined
        ? { cert: certificate ?? '', key: key ?? '', ...phrase }
        : { pfx: Buffer.from(pkcs12, 'base64'), ...phrase },
    );
    return context === undefined ? 'cannot be read' : undefined;
  } catch (error) {
    const said = error instanceof Error ? `${error.message} ${'code' in error ? String(error.code) : ''}` : '';
    return FAULTS.find(([sign]) => sign.test(said.replaceAll('_', ' ')))?.[1] ?? 'cannot be read';
  }
}
