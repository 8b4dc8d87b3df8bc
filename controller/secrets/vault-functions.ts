import { OmicronError } from '../../contract/problem.ts';
import { type VaultDocument, vaultSecretName } from '../../contract/secrets.ts';
import { readDocument } from './vault-document.ts';

/** The platform's function, else the one that a migration creates where there is none. */
const READ = ['get_vault_secret', 'omicron_get_vault_secret'];
export const CHANGE = 'omicron_change_vault_credential';

/** The answer to a call of a function that is not there. */
export const MISSING = Symbol('missing');

export const noFunctions = (): OmicronError =>
  new OmicronError(
    'secrets_unavailable',
    `The database has no functions for the vault (get_vault_secret(secret_name), ${CHANGE}): enable Supabase Vault, let the controller's role use the schema vault, and restart the controller.`,
  );

/** Reads a user's document with the first function that exists. */
export function documentReader(call: (name: string, secretName: string) => Promise<unknown>) {
  let names = READ;
  return async (userId: string): Promise<VaultDocument | null> => {
    for (const name of names) {
      const stored = await call(name, vaultSecretName(userId));
      if (stored === MISSING) continue;
      names = [name, ...READ.filter(other => other !== name)]; // asked first the next time
      return stored === null ? null : readDocument(stored);
    }
    throw noFunctions();
  };
}
