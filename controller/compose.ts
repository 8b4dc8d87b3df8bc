import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { knownSites } from '../contract/policy/well-known-sites.ts';
import { controllerKeys, serviceKey, signingKey } from '../contract/tokens.ts';
import { checkedConnections } from '../egress/checked-connections.ts';
import { httpCalls } from '../http/call.ts';
import manifest from '../package.json' with { type: 'json' };
import type { MetricFamily } from '../process/metric-export.ts';
import { type Clock, neverAborts, realClock } from '../time/clock.ts';
import { localProvider, openArtifactStore, openAuditFiles, profileParts, secretStore } from './adapters.ts';
import { buildServer } from './http/server.ts';
import type { Keys } from './lease/assignment-tokens.ts';
import { AwaitedRedemptions } from './lease/awaited-redemptions.ts';
import { EgressWatch } from './lease/egress-watch.ts';
import { EventTail } from './lease/event-tail.ts';
import { GetOrCreate } from './lease/get-or-create.ts';
import { SessionHibernation } from './lease/hibernation.ts';
import { WaitingLine } from './lease/line.ts';
import { Room } from './lease/make-room.ts';
import { mcpAccess } from './lease/mcp-access.ts';
import { pendingUserActions } from './lease/pending-user-actions.ts';
import { uploadSites } from './lease/upload-sites.ts';
import { Waits } from './lease/waits.ts';
import { ChangedRunners } from './loops/changed-runners.ts';
import { type Loops, loopsOf, wakes } from './loops.ts';
import { prometheusMetrics } from './metrics.ts';
import type { Database } from './ports/database.ts';
import type { MakeProvider } from './ports/runners.ts';
import { ProfileKeeper } from './profiles/profile-keeper.ts';
import { SealedObjects } from './profiles/sealed-objects.ts';
import { Snapshots } from './profiles/snapshots.ts';
import { httpRunnerFiles } from './runners/http-files.ts';
import { httpRunnerLink } from './runners/http-link.ts';
import type { Settings } from './settings.ts';
import { sqlAudit } from './store/audit.ts';
import { sqlAwaited } from './store/awaited.ts';
import { sqlBroker } from './store/broker.ts';
import { sqlCancelledCalls } from './store/cancelled-calls.ts';
import { sqlDirectory } from './store/directory.ts';
import { sqlEgressLeases } from './store/egress-leases.ts';
import { sqlErasures } from './store/erasures.ts';
import { sqlEventStreams } from './store/event-stream.ts';
import { sqlFleet } from './store/fleet.ts';
import { sqlHibernations } from './store/hibernations.ts';
import { sqlLeases } from './store/leases.ts';
import { sqlMaintenance } from './store/maintenance.ts';
import { migrate } from './store/migrate.ts';
import { sqlPolicies } from './store/policies.ts';
import { sqlProfiles } from './store/profiles.ts';
import { sqlPruning } from './store/pruning.ts';
import { tracedDatabase } from './store/traced-database.ts';
import { sqlUsage } from './store/usage.ts';
import { sqlUserActions } from './store/user-actions.ts';
import { sqlWebhookHolds, sqlWebhooks } from './store/webhooks.ts';
import { WebhookDeliveries } from './webhooks/deliveries.ts';
import { sealedWebhookSecrets } from './webhooks/sealed-secret.ts';

/** A controller that listens and whose loops run. */
export interface Controller {
  /** The metrics that a scrape reads. */
  readMetrics(): Promise<MetricFamily[]>;
  /** e.g. `http://127.0.0.1:8080`. */
  url: string;
  /**
   * Stops taking requests, finishes those that run, stops the loops. Runners stay leased: another replica goes on.
   */
  stop(): Promise<void>;
  /** Ends every lease and waits until nothing of its runners is left, then stops: the local stack's end. */
  shutdown(): Promise<void>;
}

/** Built outside: what differs between a laptop and a cluster. */
export interface ControllerParts {
  settings: Settings;
  database: Database;
  /** Connections for heartbeats and reports; those of `database` unless given. */
  renewals?: Database;
  log: Logger;
  /** Environment of local runners: PATH, HOME, and the browser's settings (path, sandbox, ffmpeg). */
  runnerEnv: Readonly<Record<string, string>>;
  /** The place of runners; child processes of this machine unless given. */
  provider?: MakeProvider;
  clock?: Clock;
}

/** Shutdown waits this long for recordings to be finished and stored. */
const SHUTDOWN_MS = 25_000;
const SHUTDOWN_POLL_MS = 100;
/** A runner whose machine goes away hibernates its session in this time, or loses it. */
const LEAVING_SECONDS = 12;

/** Builds a controller from its settings, brings the schema up to date, and starts it. */
export async function startController(parts: ControllerParts): Promise<Controller> {
  const { settings, log } = parts;
  await migrate(parts.database);
  const listening = Promise.withResolvers<string>();
  const core = await coreOf(parts, listening.promise);
  const { fleet, maintenance, provider, wake, clock } = core;
  const webhooks = webhookParts(core);
  const loops = loopsOf({ ...core, ...webhooks });
  const app = await serverOf({ ...core, ...webhooks, drains: loops.drains });

  await maintenance.setCapacity(settings.capacity);
  await core.eventStreams.resume();
  await sqlAudit(core.database).activate(core.audit !== null);
  const url = await listen(app, settings);
  listening.resolve(url);
  loops.start();
  log.info({ url, provider: provider.name, version: manifest.version }, 'controller listening');

  const stop = async () => {
    core.stopped.abort();
    await app.close();
    await loops.stop();
  };
  return {
    url,
    readMetrics: core.metrics.read,
    stop,
    async shutdown() {
      await loops.stopCreating();
      await maintenance.endAll(provider.name);
      wake.drain.kick();
      const giveUpMs = clock.nowMs() + SHUTDOWN_MS;
      let left = await fleet.living(provider.name);
      while (left.length > 0 && clock.nowMs() < giveUpMs) {
        await clock.sleep(SHUTDOWN_POLL_MS, neverAborts());
        left = await fleet.living(provider.name);
      }
      for (const { id, state } of left)
        log.warn({ runner_id: id, state }, 'runner left behind: the next start in this folder removes it');
      await stop();
    },
  };
}

type Core = Awaited<ReturnType<typeof coreOf>>;

/** Time for the name of a webhook's host, and for a connection to it. */
const WEBHOOK_LOOKUP_MS = 3_000;
const WEBHOOK_CONNECT_MS = 10_000;

/** Events out, to those who listen and to endpoints. */
function webhookParts(core: Core) {
  const { settings, database, log } = core;
  const eventTail = new EventTail({ ...core, onError: err => log.warn({ err }, 'events unreadable; retrying') });
  const webhooks = sqlWebhooks(database);
  const webhookSecrets = sealedWebhookSecrets(core.keys.derivation);
  const webhookConnections = checkedConnections({
    denied: settings.deniedCidrs,
    allowed: settings.webhookAllowedCidrs,
    lookupMs: WEBHOOK_LOOKUP_MS,
    connectMs: WEBHOOK_CONNECT_MS,
  });
  const webhookDeliveries = new WebhookDeliveries({
    ...core,
    eventTail,
    webhooks,
    holds: sqlWebhookHolds(database),
    secrets: webhookSecrets,
    connections: webhookConnections,
    version: manifest.version,
  });
  return { eventTail, webhooks, webhookSecrets, webhookConnections, webhookDeliveries };
}

/** Parts of the loops and the server. */
async function coreOf(parts: ControllerParts, controllerUrl: Promise<string>) {
  const { settings, log, clock = realClock } = parts;
  const metrics = prometheusMetrics({ stats: () => directory.stats() });
  const traced = (of: Database) => tracedDatabase(of, settings.databaseUrl, metrics.ranSql);
  const database = traced(parts.database);
  const renewals = parts.renewals ? traced(parts.renewals) : database;
  const signing = signingKey(settings.signingKey);
  const keys: Keys = { signing, derivation: Buffer.from(settings.derivationKey, 'base64') };
  const jwks = JSON.stringify({ keys: [signing.publicJwk] });
  const publicKeys = controllerKeys(jwks);
  const rules = {
    userLimit: settings.userLimit,
    onUserLimit: settings.onUserLimit,
    maxSessionSeconds: settings.maxSessionMinutes * 60,
    claimSeconds: settings.claimSeconds,
    startSeconds: settings.startSeconds,
    hibernate: settings.hibernate,
    keepFiles: settings.keepFiles,
    policyPresets: settings.policyPresets,
  };
  const wake = wakes();
  const changedRunners = new ChangedRunners();
  const stopped = new AbortController();
  const link = httpRunnerLink({ send: httpCalls(), clock });
  const makeProvider = parts.provider ?? localProvider(settings, parts.runnerEnv);
  const { healthOf } = link;
  const directory = sqlDirectory(database);
  const profiles = sqlProfiles(database);
  const hibernations = sqlHibernations(database);
  const kept = await profileParts(settings);
  const auditFiles = await openAuditFiles(settings);
  const { profileRetentionDays: retentionDays } = settings;
  const quotaBytes = settings.profileQuotaMb * 1024 * 1024;
  const objects = kept && new SealedObjects({ ...kept, profiles, quotaBytes });
  const provider = await makeProvider({
    controllerUrl,
    jwks,
    healthOf,
    onChange: changedRunners.add,
    onWrite: metrics.wrote,
    stopped: stopped.signal,
    clock,
    log,
  });
  return {
    settings,
    database,
    keys,
    publicKeys,
    mcpAccess: mcpAccess({ keys, publicKeys, tokenSeconds: settings.mcpTokenSeconds }),
    leases: sqlLeases(database, rules, renewals),
    fleet: sqlFleet(database, { graceSeconds: objects ? LEAVING_SECONDS : 0 }),
    maintenance: sqlMaintenance(database, rules),
    pruning: sqlPruning(database),
    broker: sqlBroker(database, renewals),
    directory,
    usage: sqlUsage(database),
    policies: sqlPolicies(database),
    profiles,
    profileKeeper: objects && new ProfileKeeper({ profiles, objects, store: kept.store, retentionDays, log }),
    snapshots: objects && new Snapshots({ hibernations, objects, keepSeconds: settings.hibernatedHours * 3_600, log }),
    hibernation: objects
      ? new SessionHibernation({
          directory,
          hibernations,
          link,
          keys,
          provider: provider.name,
          onHibernated: metrics.hibernated,
          clock,
          log,
        })
      : null,
    userActions: sqlUserActions(database),
    eventStreams: sqlEventStreams(database),
    erasures: sqlErasures(database),
    cancelledCalls: sqlCancelledCalls(database),
    egressLeases: sqlEgressLeases(database),
    secrets: secretStore(settings, database),
    artifacts: await openArtifactStore(settings),
    auditFiles,
    audit: auditFiles && sqlAudit(database),
    metrics,
    link,
    redemptions: new AwaitedRedemptions(),
    runnerFiles: httpRunnerFiles,
    provider,
    changedRunners,
    stopped,
    waits: new Waits(directory, sqlAwaited(database), clock),
    wake,
    clock,
    log,
  };
}

async function serverOf(
  core: Core & ReturnType<typeof webhookParts> & Pick<Loops, 'drains'>,
): Promise<FastifyInstance> {
  const { settings, provider, wake, waits } = core;
  /** A lease has ended here: its runner is drained, and who waits for its session looks. */
  const kickDrain = (sessionId?: string) => {
    wake.drain.kick();
    if (sessionId !== undefined) waits.changed(sessionId);
  };
  const { derivation } = core.keys;
  const uploads = uploadSites(settings.artifactEndpoints);
  const onError = (err: unknown) => core.log.warn({ err }, 'line unreadable; retrying');
  const getOrCreate = new GetOrCreate({
    ...core,
    env: settings.environmentName,
    namespace: provider.name,
    attemptsMax: settings.startAttempts,
    beatMs: (settings.claimSeconds * 1000) / 3,
    kickLaunch: wake.launch.kick,
    kickDrain,
    onWaited: core.metrics.waited,
    onPart: core.metrics.acquirePart,
    onStarted: core.metrics.leaseStarted,
    line: new WaitingLine({
      ...core,
      room: new Room({ ...core, kickDrain, onError }),
      wake: wake.line,
      onError,
    }),
  });
  return buildServer({
    ...core,
    egressWatch: new EgressWatch({ ...core, uploads, derivation }, core.clock),
    getOrCreate,
    kickDrain,
    gateway: await gatewayOf(core, getOrCreate),
    pendingUserActions: pendingUserActions({
      ...core,
      wake: waits.questions,
      onError: err => core.log.warn({ err }, 'user actions unreadable; retrying'),
    }),
    serviceKey: serviceKey(settings.serviceSecret),
    egressKey: serviceKey(settings.egressSecret),
    derivation,
    knownSites: knownSites(settings.credentialSites, settings.wellKnownSites),
    uploads,
    consoleUrl: settings.consoleUrl,
    publicUrl: settings.publicUrl,
    runnerNamePrefix: settings.runnerNamePrefix,
    liveUrl: settings.liveUrl,
    provider: provider.name,
    capabilities: provider.capabilities,
    version: manifest.version,
  });
}

/** Loaded where it is used alone: the MCP SDK is 10 MB of memory. */
async function gatewayOf(core: Core, getOrCreate: GetOrCreate) {
  const { gatewayUrl: url, gatewayIssuer: issuer, gatewayAudience: audience = url, ...settings } = core.settings;
  if (url === undefined || issuer === undefined || audience === undefined) return undefined;
  const { gatewayRoutes } = await import('./gateway/routes.ts');
  const { gatewayUserClaim: userClaim, gatewayToolset: toolset, liveUrl } = settings;
  const gateway = { url, issuer, audience, userClaim, toolset, liveUrl };
  const parts = { ...core, getOrCreate, derivation: core.keys.derivation, version: manifest.version };
  return (app: FastifyInstance) => gatewayRoutes(app, gateway, parts);
}

/** Resolves with the URL under which runners of this machine reach it. */
async function listen(app: FastifyInstance, { host, port }: Settings): Promise<string> {
  await app.listen({ host, port });
  const address = app.server.address() as AddressInfo; // it listens on TCP
  return `http://${['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host}:${address.port}`;
}
