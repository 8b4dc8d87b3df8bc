import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import { vaultSecretName } from '../../contract/secrets.ts';
import type { Database } from '../ports/database.ts';
import type { SecretStore } from '../ports/secrets.ts';
import { CHANGE, documentReader, MISSING, noFunctions } from './vault-functions.ts';

// https://www.postgresql.org/docs/18/errcodes-appendix.html
const UNDEFINED_FUNCTION = '42883';
const INSUFFICIENT_PRIVILEGE = '42501';

/** Supabase Vault over SQL: by the platform's `get_vault_secret`, and by functions that a migration creates. */
export function vaultSqlSecrets(database: Database): SecretStore {
  const call = async (name: string, types: string, parameters: unknown[]): Promise<unknown> => {
    try {
      const [row] = await database.query<{ answer: unknown }>(`select public.${name}(${types}) as answer`, parameters);
      return row?.answer ?? null;
    } catch (error) {
      if (error instanceof OmicronError) throw error;
      // Postgres quotes what it could not read, so neither its message nor a cause is passed on
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
      if (code === UNDEFINED_FUNCTION) return MISSING;
      throw new OmicronError(
        'secrets_unavailable',
        code === INSUFFICIENT_PRIVILEGE
          ? `The controller's database role may not read the vault: grant it execute on public.${name}.`
          : `The vault failed with SQLSTATE ${code}: check that the user's document is JSON, and correct or delete it.`,
      );
    }
  };
  const change = async (userId: string, site: string, credential: string | null): Promise<boolean> => {
    const changed = await call(CHANGE, '$1, $2, $3::jsonb', [vaultSecretName(userId), site, credential]);
    if (changed === MISSING) throw noFunctions();
    return z.boolean().parse(changed);
  };
  return {
    read: documentReader((name, secretName) => call(name, '$1', [secretName])),
    async put(userId, site, credential) {
      await change(userId, site, JSON.stringify(credential));
    },
    remove: (userId, site) => change(userId, site, null),
  };
}
