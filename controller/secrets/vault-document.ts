import { OmicronError } from '../../contract/problem.ts';
import { type VaultDocument, vaultDocument } from '../../contract/secrets.ts';

/** Parses one user's document. The error never quotes it. */
export function readDocument(text: string): VaultDocument {
  try {
    return vaultDocument.parse(JSON.parse(text));
  } catch {
    throw new OmicronError(
      'secrets_unavailable',
      'The vault document of this user does not have the form {"credentials": {"<site>": {"username", "password"}}}; correct or delete it in the vault.',
    );
  }
}
