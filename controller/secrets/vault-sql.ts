import * as z from 'zod';
import { OmicronError } from '../../contract/problem.ts';
import { vaultSecretName } from '../../contract/secrets.ts';
import type { Database } from '../ports/database.ts';
import type { SecretStore } from '../ports/secrets.ts';
import { readDocument } from './vault-document.ts';

const UNDEFINED_FUNCTION = '42883'; // https://www.postgresql.org/docs/18/errcodes-appendix.html

/** Supabase Vault over SQL, by functions that a migration creates where the `vault` schema exists. */
export function vaultSqlSecrets(database: Database): SecretStore {
  const ask = async (sql: string, parameters: unknown[]): Promise<unknown> => {
    try {
      const [row] = await database.query<{ answer: unknown }>(sql, parameters);
      return row?.answer ?? null;
    } catch (error) {
      if (error instanceof OmicronError) throw error;
      // Postgres quotes what it could not read, so neither its message nor a cause is passed on
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
      throw new OmicronError(
        'secrets_unavailable',
        code === UNDEFINED_FUNCTION
          ? 'The database has no functions for the vault: enable Supabase Vault and restart the controller.'
          : `The vault failed with SQLSTATE ${code}: check that the user's document is JSON, and correct or delete it.`,
      );
    }
  };
  const change = async (userId: string, site: string, credential: string | null): Promise<boolean> =>
    z
      .boolean()
      .parse(
        await ask('select public.change_vault_credential($1, $2, $3::jsonb) as answer', [
          vaultSecretName(userId),
          site,
          credential,
        ]),
      );
  return {
    async read(userId) {
      const document = await ask('select public.get_vault_secret($1) as answer', [vaultSecretName(userId)]);
      return document === null ? null : readDocument(z.string().parse(document));
    },
    async put(userId, site, credential) {
      await change(userId, site, JSON.stringify(credential));
    },
    remove: (userId, site) => change(userId, site, null),
  };
}
