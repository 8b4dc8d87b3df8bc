import { mkdir } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Logger } from 'pino';
import { ENV } from '../contract/names.ts';
import { controllerKeys, serviceKey, signingKey } from '../contract/tokens.ts';
import { type Clock, realClock } from '../http/clock.ts';
import manifest from '../package.json' with { type: 'json' };
import { bucketArtifacts } from './artifacts/bucket.ts';
import { folderArtifacts } from './artifacts/folder.ts';
import type { Settings } from './config.ts';
import { buildServer } from './http/server.ts';
import type { Keys } from './lease/assignment-tokens.ts';
import { Changes } from './lease/changes.ts';
import { GetOrCreate } from './lease/get-or-create.ts';
import { uploadSites } from './lease/upload-sites.ts';
import { loopsOf, wakes } from './loops.ts';
import { prometheusMetrics } from './metrics.ts';
import type { Database } from './ports/database.ts';
import type { RunnerProvider } from './ports/runners.ts';
import type { SecretStore } from './ports/secrets.ts';
import { httpRunnerLink } from './runners/http-link.ts';
import { type LocalRunners, localRunners } from './runners/local/provider.ts';
import { fileSecrets } from './secrets/file.ts';
import { vaultRestSecrets } from './secrets/vault-rest.ts';
import { vaultSqlSecrets } from './secrets/vault-sql.ts';
import { sqlBroker } from './store/broker.ts';
import { sqlDirectory } from './store/directory.ts';
import { sqlEgressLeases } from './store/egress-leases.ts';
import { sqlFleet } from './store/fleet.ts';
import { sqlLeases } from './store/leases.ts';
import { sqlMaintenance } from './store/maintenance.ts';
import { migrate } from './store/migrate.ts';
import { sqlPolicies } from './store/policies.ts';
import { sqlUserActions } from './store/user-actions.ts';

/** A controller that listens and whose loops run. */
export interface Controller {
  /** e.g. `http://127.0.0.1:8080`. */
  url: string;
  /** Stops taking requests, finishes those that run, stops the loops. Runners stay leased: another replica goes on. */
  stop(): Promise<void>;
  /** Ends every lease and waits until nothing of its runners is left, then stops: the local stack's end. */
  shutdown(): Promise<void>;
}

/** Built outside: what differs between a laptop and a cluster. */
export interface ControllerParts {
  settings: Settings;
  database: Database;
  log: Logger;
  /** The browser's settings for local runners (path, sandbox, ffmpeg). */
  runnerEnv: Record<string, string>;
  /** Time, which a test may move. */
  clock?: Clock;
  /** Where runners live; child processes of this machine unless said otherwise. */
  provider?: (options: LocalRunners) => RunnerProvider | Promise<RunnerProvider>;
}

/** Shutdown waits this long for recordings to be finished and stored. */
const SHUTDOWN_MS = 25_000;

/** Builds a controller from its settings, brings the schema up to date, and starts it. */
export async function startController(parts: ControllerParts): Promise<Controller> {
  const { settings, database, log, runnerEnv, clock = realClock, provider: makeProvider = localRunners } = parts;
  await migrate(database);

  const signing = await signingKey(settings.signingKey);
  const keys: Keys = { signing, derivation: Buffer.from(settings.derivationKey, 'base64') };
  const jwks = JSON.stringify({ keys: [signing.publicJwk] });
  const secrets = secretStore(settings, database);
  const dataDir = resolve(settings.dataDir);
  const artifactFolder = folderOfRecordings(settings, dataDir);
  if (artifactFolder !== null) await mkdir(artifactFolder, { recursive: true, mode: 0o700 });

  const rules = {
    userLimit: settings.userLimit,
    onUserLimit: settings.onUserLimit,
    maxSessionSeconds: settings.maxSessionMinutes * 60,
    claimSeconds: settings.claimSeconds,
    startSeconds: settings.startSeconds,
  };
  const leases = sqlLeases(database, rules);
  const fleet = sqlFleet(database);
  const maintenance = sqlMaintenance(database, rules);
  const broker = sqlBroker(database);
  const directory = sqlDirectory(database);
  const policies = sqlPolicies(database);
  const changes = new Changes(clock);
  const metrics = prometheusMetrics(directory);
  const artifacts = artifactFolder === null ? bucketArtifacts : folderArtifacts(artifactFolder);
  const link = httpRunnerLink();

  let url = '';
  const wake = wakes();
  const provider: RunnerProvider = await makeProvider({
    root: join(dataDir, 'runners'),
    controllerUrl: () => url,
    jwks,
    artifactStore: settings.artifactStore ?? pathToFileURL(join(dataDir, 'artifacts')).href,
    env: { ...runnerEnv, ...(settings.egressUrl ? { [ENV.egressUrl]: settings.egressUrl } : {}) },
    onExit: wake.liveness.kick,
    log,
  });

  const loops = loopsOf({
    fleet,
    maintenance,
    provider,
    link,
    keys,
    artifacts,
    metrics,
    wake,
    capacity: settings.capacity,
    poolIdle: settings.poolIdle,
    poolBurst: settings.poolBurst,
    reapMs: settings.reapSeconds * 1000,
    retentionDays: settings.artifactsRetentionDays,
    clock,
    log,
  });

  /** A lease has ended here: its runner is drained, and watchers of leases look now. */
  const kickDrain = () => {
    wake.drain.kick();
    changes.kick();
  };
  const getOrCreate = new GetOrCreate({
    leases,
    directory,
    fleet,
    secrets,
    provider,
    link,
    keys,
    env: settings.environmentName,
    namespace: provider.name,
    evicts: rules.onUserLimit === 'evict_oldest',
    beatMs: (settings.claimSeconds * 1000) / 3,
    kickLaunch: wake.launch.kick,
    kickDrain,
    clock,
    log,
  });
  const app = await buildServer({
    serviceKey: serviceKey(settings.serviceSecret),
    keys,
    publicKeys: controllerKeys(jwks),
    getOrCreate,
    leases,
    directory,
    broker,
    secrets,
    metrics,
    provider: provider.name,
    version: manifest.version,
    egressKey: serviceKey(settings.egressSecret),
    derivation: keys.derivation,
    egressLeases: sqlEgressLeases(database),
    uploads: uploadSites(settings.artifactEndpoints),
    policies,
    userActions: sqlUserActions(database),
    changes,
    kickDrain,
    log,
  });

  await maintenance.setCapacity(settings.capacity);
  await app.listen({ host: settings.host, port: settings.port });
  const { port } = app.server.address() as AddressInfo; // it listens on TCP
  const host = ['0.0.0.0', '::'].includes(settings.host) ? '127.0.0.1' : settings.host;
  url = `http://${host}:${port}`;
  loops.start();
  log.info({ url, provider: provider.name, version: manifest.version }, 'controller listening');

  const stop = async () => {
    await app.close();
    await loops.stop();
  };

  return {
    url,
    stop,
    async shutdown() {
      await loops.stopCreating();
      await maintenance.endAll(provider.name);
      wake.drain.kick();
      const giveUpMs = clock.nowMs() + SHUTDOWN_MS;
      while ((await fleet.living(provider.name)).length > 0 && clock.nowMs() < giveUpMs)
        await clock.sleep(100, new AbortController().signal);
      await stop();
    },
  };
}

/** Null: they are in a bucket, which uploaders reach through the egress proxy. */
function folderOfRecordings({ artifactStore }: Settings, dataDir: string): string | null {
  if (artifactStore === undefined) return join(dataDir, 'artifacts');
  return artifactStore.startsWith('file:') ? fileURLToPath(artifactStore) : null;
}

/** What each store needs is there: the settings' rules saw to it. */
function secretStore(settings: Settings, database: Database): SecretStore {
  const { secretFileKey = '', supabaseUrl = '', supabaseServiceRoleKey = '' } = settings;
  switch (settings.secretStore) {
    case 'file':
      return fileSecrets({
        path: join(resolve(settings.dataDir), 'secrets.jwe'),
        key: Buffer.from(secretFileKey, 'base64'),
      });
    case 'vault-sql':
      return vaultSqlSecrets(database);
    case 'vault-rest':
      return vaultRestSecrets({ url: supabaseUrl, serviceRoleKey: supabaseServiceRoleKey });
  }
}
