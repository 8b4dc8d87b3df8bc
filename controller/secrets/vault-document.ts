import * as z from 'zod';
import { type Credential, credentialSchema, sameNames, siteKey, type VaultDocument } from '../../contract/secrets.ts';
import { certificateFault } from '../lease/client-certificate.ts';

const FORM = '{"credentials": {"<site>": {"username", "password"}}}';
const envelope = z.looseObject({ credentials: z.record(z.string(), z.unknown()) });

/**
 * The usable part of one user's document, as it was stored: text, or JSON that is parsed already. An entry of another form costs the
 * user that entry, and a document of another form its credentials; neither is an error, and no reason quotes a value.
 */
export function readDocument(stored: unknown): VaultDocument {
  const parsed = envelope.safeParse(typeof stored === 'string' ? parseJson(stored) : stored);
  if (!parsed.success)
    return {
      credentials: {},
      unusable: {},
      fault: `The vault document of this user does not have the form ${FORM}; correct or delete it in the vault.`,
    };
  const entries = Object.entries(parsed.data.credentials);
  const credentials: Record<string, Credential> = {};
  const unusable: Record<string, string> = {};
  for (const [site, entry] of entries) {
    const other = entries.find(([key]) => sameNames(site, key))?.[0];
    const key = siteKey.safeParse(site);
    const credential = credentialSchema.safeParse(entry);
    if (!key.success) unusable[site] = `the site key ${listMessages(key.error)}`;
    else if (!credential.success) unusable[site] = `${listMessages(credential.error)}; store it anew`;
    else if (other !== undefined) unusable[site] = `"${other}" has the same secret names; rename one of them`;
    else {
      const { client_certificate: certificate } = credential.data;
      const fault = certificate && certificateFault(certificate);
      if (fault === undefined) credentials[site] = credential.data;
      else unusable[site] = `client_certificate ${fault}; store it anew`;
    }
  }
  return { credentials, unusable };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The rules that were broken and where; they name no value. */
const listMessages = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => [...path, message].join(' ')).join('; ');
