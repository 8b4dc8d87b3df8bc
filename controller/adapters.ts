import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ENV, PROFILE_PREFIX } from '../contract/names.ts';
import { folderArtifacts } from './artifacts/folder.ts';
import { uncheckedArtifacts } from './artifacts/unchecked.ts';
import type { ArtifactStore } from './ports/artifacts.ts';
import type { AuditFiles } from './ports/audit-files.ts';
import type { Database } from './ports/database.ts';
import type { KeyWrap } from './ports/key-wrap.ts';
import type { ProfileStore } from './ports/profile-store.ts';
import type { RemoteBrowsers } from './ports/remote-browsers.ts';
import type { MakeProvider } from './ports/runners.ts';
import type { SecretStore } from './ports/secrets.ts';
import { folderProfileStore } from './profiles/folder-store.ts';
import { keyFileWrap } from './profiles/key-file.ts';
import { kernelBrowsers } from './runners/kernel/browsers.ts';
import { localRunners } from './runners/local/provider.ts';
import { fileSecrets } from './secrets/file.ts';
import { vaultKvSecrets } from './secrets/vault-kv.ts';
import { vaultRestSecrets } from './secrets/vault-rest.ts';
import { vaultSqlSecrets } from './secrets/vault-sql.ts';
import type { Settings } from './settings.ts';

// The adapter of each port, by the settings.

const artifactUrl = ({ artifactStore, dataDir }: Settings): string =>
  artifactStore ?? pathToFileURL(join(resolve(dataDir), 'artifacts')).href;

export async function openArtifactStore(settings: Settings): Promise<ArtifactStore> {
  const url = artifactUrl(settings);
  if (!url.startsWith('file:')) return bucketAt(new URL(url).hostname, settings);
  const folder = fileURLToPath(url);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return folderArtifacts(folder);
}

/** The AWS SDK is loaded where it is used alone: the published command leaves it out. */
async function bucketAt(
  bucket: string,
  { awsRegion, awsS3Endpoint, environmentName }: Settings,
): Promise<ArtifactStore> {
  if (awsRegion === undefined) return uncheckedArtifacts;
  const { bucketArtifacts } = await import('./artifacts/bucket.ts');
  return bucketArtifacts({ bucket, region: awsRegion, endpoint: awsS3Endpoint, env: environmentName });
}

/** Null: no audit is kept. */
export async function openAuditFiles(settings: Settings): Promise<AuditFiles | null> {
  const { awsRegion: region, awsS3Endpoint: endpoint, auditExportSeconds } = settings;
  const url = artifactUrl(settings);
  if (auditExportSeconds === 0 || region === undefined || !url.startsWith('s3:')) return null;
  const { bucketAuditFiles } = await import('./audit/bucket-files.ts');
  return bucketAuditFiles({ bucket: new URL(url).hostname, region, endpoint });
}

/** The settings' rules require what each store needs. */
export function secretStore(settings: Settings, database: Database): SecretStore {
  const {
    secretFileKey = '',
    supabaseUrl = '',
    supabaseServiceRoleKey = '',
    vaultUrl = '',
    vaultToken = '',
  } = settings;
  switch (settings.secretStore) {
    case 'file':
      return fileSecrets({
        path: join(resolve(settings.dataDir), 'secrets.jwe'),
        key: Buffer.from(secretFileKey, 'base64'),
      });
    case 'vault-sql':
      return vaultSqlSecrets(database);
    case 'vault-kv':
      return vaultKvSecrets({ url: vaultUrl, mount: settings.vaultMount, token: vaultToken });
    case 'vault-rest':
      return vaultRestSecrets({ url: supabaseUrl, tls: settings.supabaseTls, serviceRoleKey: supabaseServiceRoleKey });
  }
}

/** Null: this deployment keeps no profiles. The settings' rules require what each store needs. */
export async function profileParts(settings: Settings): Promise<{ store: ProfileStore; keys: KeyWrap } | null> {
  const { provider, dataDir } = settings;
  const own = provider !== 'kubernetes' ? pathToFileURL(join(resolve(dataDir), PROFILE_PREFIX)).href : undefined;
  const { profileStore = own } = settings;
  const keys = await keyWrap(settings);
  if (keys === undefined || profileStore === undefined) return null;
  return { store: await profileStoreAt(profileStore, settings), keys };
}

async function keyWrap(settings: Settings): Promise<KeyWrap | undefined> {
  const { profileKmsKey, profileKey = settings.secretFileKey } = settings;
  if (profileKmsKey !== undefined) return (await import('./profiles/kms.ts')).kmsWrap({ keyArn: profileKmsKey });
  return profileKey === undefined ? undefined : keyFileWrap(Buffer.from(profileKey, 'base64'));
}

/** The AWS SDK is loaded where it is used alone: the published command leaves it out. */
async function profileStoreAt(url: string, { awsRegion = '', awsS3Endpoint }: Settings): Promise<ProfileStore> {
  if (url.startsWith('file:')) return folderProfileStore(fileURLToPath(url));
  const { bucketStore } = await import('./profiles/bucket-store.ts');
  return bucketStore({ bucket: new URL(url).hostname, region: awsRegion, endpoint: awsS3Endpoint });
}

/** The service of browsers elsewhere that a provider uses; undefined: they are on this machine. The settings' rules require what each needs. */
function remoteBrowsers({ provider, kernelUrl, kernelApiKey = '' }: Settings): RemoteBrowsers | undefined {
  return provider === 'kernel' ? kernelBrowsers({ url: kernelUrl, apiKey: kernelApiKey }) : undefined;
}

/** Runners as child processes of this machine, with this environment; their browsers here, or of a service. */
export const localProvider =
  (settings: Settings, runnerEnv: Readonly<Record<string, string>>): MakeProvider =>
  context =>
    localRunners({
      ...context,
      remote: remoteBrowsers(settings),
      // One for each provider: what has no row is removed.
      root: join(resolve(settings.dataDir), settings.provider === 'local' ? 'runners' : `${settings.provider}-runners`),
      publicUrl: settings.publicUrl,
      artifactStore: artifactUrl(settings),
      memoryBytesMax: settings.localRunnerMemoryMb * 1024 * 1024,
      environment: { ...runnerEnv, ...(settings.egressUrl ? { [ENV.egressUrl]: settings.egressUrl } : {}) },
    });
