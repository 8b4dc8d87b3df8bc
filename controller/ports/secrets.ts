import type { Credential, VaultDocument } from '../../contract/secrets.ts';

/**
 * A vault of site credentials, one document a user. Throws `secrets_unavailable` when it cannot be reached, and when a change would
 * write over a document that has another form.
 */
export interface SecretStore {
  /** Null: the user has none. */
  read(userId: string): Promise<VaultDocument | null>;
  /** Stores or replaces one site's credential. */
  put(userId: string, site: string, credential: Credential): Promise<void>;
  /** False: there was none. */
  remove(userId: string, site: string): Promise<boolean>;
}
