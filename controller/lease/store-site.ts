import type { AskedCredential } from '../../contract/user-action.ts';
import type { SecretStore } from '../ports/secrets.ts';

/** Stores the site with a credential that has none; one that has a site by now, or is gone, stays as it is. */
export async function storeSite(
  secrets: Pick<SecretStore, 'read' | 'put'>,
  userId: string,
  { site, target }: AskedCredential,
): Promise<void> {
  const credential = (await secrets.read(userId))?.credentials[site];
  if (credential === undefined || credential.url !== undefined) return;
  await secrets.put(userId, site, { ...credential, url: target });
}
