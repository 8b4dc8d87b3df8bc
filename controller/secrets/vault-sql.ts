import * as z from 'zod';
import { vaultSecretName } from '../../contract/secrets.ts';
import type { Database } from '../ports/database.ts';
import type { SecretStore } from '../ports/secrets.ts';
import { readDocument } from './vault-document.ts';

/** Supabase Vault over SQL, by functions that a migration makes where the `vault` schema exists. */
export function vaultSqlSecrets(database: Database): SecretStore {
  const change = async (userId: string, site: string, credential: string | null): Promise<boolean> => {
    const [row] = await database.query<{ changed: unknown }>(
      'select public.change_vault_credential($1, $2, $3::jsonb) as changed',
      [vaultSecretName(userId), site, credential],
    );
    return z.boolean().parse(row?.changed);
  };
  return {
    async read(userId) {
      const [row] = await database.query<{ document: string | null }>(
        'select public.get_vault_secret($1) as document',
        [vaultSecretName(userId)],
      );
      return row?.document == null ? null : readDocument(row.document);
    },
    async put(userId, site, credential) {
      await change(userId, site, JSON.stringify(credential));
    },
    remove: (userId, site) => change(userId, site, null),
  };
}
