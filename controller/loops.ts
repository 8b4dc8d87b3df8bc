import type { Logger } from 'pino';
import type { Clock } from '../time/clock.ts';
import type { Keys } from './lease/assignment-tokens.ts';
import { eraseUsers } from './lease/erase-user.ts';
import type { SessionHibernation } from './lease/hibernation.ts';
import type { Waits } from './lease/waits.ts';
import { exportAudit } from './loops/audit-export.ts';
import type { ChangedRunners } from './loops/changed-runners.ts';
import { type Drains, drainLoop } from './loops/drain.ts';
import { launchLoop } from './loops/launch.ts';
import { markLostRunners, removeOrphans } from './loops/liveness.ts';
import { loop } from './loops/loop.ts';
import { poolLoop } from './loops/pool.ts';
import { pruneLoop } from './loops/prune.ts';
import { reap, removeDueFiles, retainArtifacts } from './loops/reap.ts';
import { surveyArtifacts } from './loops/survey.ts';
import type { Metrics } from './metrics.ts';
import type { ArtifactStore } from './ports/artifacts.ts';
import type { AuditFiles } from './ports/audit-files.ts';
import type { RunnerLink } from './ports/runner-link.ts';
import type { RunnerProvider } from './ports/runners.ts';
import type { SecretStore } from './ports/secrets.ts';
import type { ProfileKeeper } from './profiles/profile-keeper.ts';
import type { Settings } from './settings.ts';
import type { Audit } from './store/audit.ts';
import type { Erasures } from './store/erasures.ts';
import type { Fleet } from './store/fleet.ts';
import type { Maintenance } from './store/maintenance.ts';
import type { Pruning } from './store/pruning.ts';
import { Wake } from './wake.ts';
import type { WebhookDeliveries } from './webhooks/deliveries.ts';

/** A runner has this long from its launch to become warm; the guard for a whole start is longer (O18). */
const RUNNER_START_MS = 60_000;

/** Shorter than the time before its expiry in which a lease is hibernated (`expires_soon`). */
const HIBERNATE_MS = 1_000;

/** The loops that something else wakes. */
export interface Wakes {
  launch: Wake;
  drain: Wake;
  pool: Wake;
  /** A place came free: who waits for one looks. */
  line: Wake;
  /** A webhook was added or resumed. */
  webhooks: Wake;
}

export const wakes = (): Wakes => ({
  launch: new Wake(),
  drain: new Wake(),
  pool: new Wake(),
  line: new Wake(),
  webhooks: new Wake(),
});

type LoopSettings = Pick<
  Settings,
  | 'capacity'
  | 'poolIdle'
  | 'poolIdleMax'
  | 'poolBurst'
  | 'launchesMax'
  | 'provider'
  | 'drainsMax'
  | 'reapSeconds'
  | 'artifactsRetentionDays'
  | 'pagesRetentionDays'
  | 'eventsRetentionDays'
  | 'sessionsRetentionDays'
  | 'auditExportSeconds'
  | 'environmentName'
>;

export interface LoopParts {
  fleet: Fleet;
  maintenance: Maintenance;
  pruning: Pruning;
  provider: RunnerProvider;
  changedRunners: ChangedRunners;
  link: RunnerLink;
  keys: Keys;
  waits: Waits;
  artifacts: ArtifactStore;
  profileKeeper: ProfileKeeper | null;
  erasures: Erasures;
  secrets: SecretStore;
  /** Null: this deployment cannot hibernate sessions. */
  hibernation: SessionHibernation | null;
  webhookDeliveries: WebhookDeliveries;
  /** Null: there is no audit. */
  audit: Audit | null;
  auditFiles: AuditFiles | null;
  metrics: Metrics;
  wake: Wakes;
  settings: LoopSettings;
  clock: Clock;
  log: Logger;
}

/** Everything that a controller does by itself. */
export interface Loops {
  /** For requests that end a lease. */
  readonly drains: Drains;
  start(): void;
  /** No runner is created from here on; the other loops go on. */
  stopCreating(): Promise<void>;
  /** Resolves when all work has ended. */
  stop(): Promise<void>;
}

export function loopsOf(parts: LoopParts): Loops {
  const { settings, fleet, provider, changedRunners, wake, clock, log } = parts;
  const every = (name: string, everyMs: number, runOnce: () => Promise<void>, wake = new Wake(), restMs = 0) =>
    loop({ name, everyMs, restMs, runOnce, wake, clock, log });

  const reapMs = settings.reapSeconds * 1000;
  const retention = { videos: settings.artifactsRetentionDays, pages: settings.pagesRetentionDays };
  const pool = poolLoop({
    fleet,
    provider,
    idle: settings.poolIdle,
    idleMax: settings.poolIdleMax ?? settings.poolIdle,
    burst: settings.poolBurst,
    onTarget: parts.metrics.poolTarget,
    kickLaunch: wake.launch.kick,
    kickDrain: wake.drain.kick,
    clock,
    log,
  });
  const launch = launchLoop({
    fleet,
    provider,
    startMs: RUNNER_START_MS,
    atOnce: settings.launchesMax ?? provider.capabilities.launchesAtOnce,
    onRoom: wake.launch.kick,
    onPart(part, seconds, fault) {
      if (fault === null) parts.metrics.launched(part, seconds);
      else parts.metrics.runnerFailed(part, fault);
    },
    onFailure() {
      pool.failed();
      wake.drain.kick();
    },
    onSuccess() {
      pool.succeeded();
      wake.line.kick();
    },
    clock,
    log,
  });
  const drain = drainLoop({
    fleet,
    provider,
    link: parts.link,
    keys: parts.keys,
    atOnce: settings.drainsMax,
    onRoom: wake.drain.kick,
    waits: parts.waits,
    onGone() {
      wake.pool.kick();
      wake.line.kick();
    },
    clock,
    log,
  });

  const days = { events: settings.eventsRetentionDays, sessions: settings.sessionsRetentionDays };
  const prune = pruneLoop({ pruning: parts.pruning, metrics: parts.metrics, days, clock, log });
  const creating = [
    every('pool', poolMs(settings), pool.runOnce, wake.pool, POOL_REST_MS),
    every('launch', 1_000, launch.runOnce, wake.launch),
  ];
  const loops = [
    ...creating,
    every('drain', 1_000, drain.runOnce, wake.drain),
    every('liveness', 2_000, () => checkRunners(parts)),
    every('changed runners', 60_000, () => checkRunners(parts, changedRunners.take()), changedRunners.wake),
    every('orphans', reapMs, () => removeOrphans(parts)),
    every('reap', reapMs, () => reapOnce(parts)),
    every('profiles', 60_000, async () => parts.profileKeeper?.sweep()),
    every('hibernate', Math.min(reapMs, HIBERNATE_MS), async () => parts.hibernation?.hibernateExpiring()),
    every('erasures', reapMs, () => eraseUsers({ ...parts, kickDrain: wake.drain.kick })),
    every('files', reapMs, () => removeDueFiles(parts)),
    every('webhooks', 1_000, () => parts.webhookDeliveries.runOnce(), wake.webhooks),
    every('survey', 3_600_000, () => surveyArtifacts({ ...parts, retention })),
    every('audit', auditMs(settings), () => auditOnce(parts)),
    every('prune', 60_000, prune.runOnce),
    every('retain', 3_600_000, () => retainArtifacts({ ...parts, retention })),
  ];

  const stopCreating = async () => {
    await Promise.all(creating.map(each => each.stop()));
    await launch.stop();
  };
  return {
    drains: drain,
    start() {
      for (const each of loops) each.start();
    },
    stopCreating,
    async stop() {
      await stopCreating();
      await Promise.all(loops.map(each => each.stop()));
      await Promise.all([drain.stop(), parts.webhookDeliveries.stop()]);
    },
  };
}

async function checkRunners(parts: LoopParts, runnerIds?: readonly string[]): Promise<void> {
  parts.metrics.reaped(await markLostRunners(parts, runnerIds));
  parts.wake.drain.kick();
}

async function reapOnce(parts: LoopParts): Promise<void> {
  await parts.maintenance.setCapacity(parts.settings.capacity);
  parts.metrics.reaped(await reap(parts));
  parts.wake.drain.kick();
}

/** Each runner that is gone wakes the pool: it looks no more often than this. */
const POOL_REST_MS = 100;

/** A pool that is sized by demand looks at it more often. */
const poolMs = ({ poolIdle, poolIdleMax = poolIdle }: LoopSettings): number => (poolIdleMax > poolIdle ? 250 : 1_000);

/** Looks more often than a file is due: the replica that wrote the last one may be gone. */
const auditMs = ({ auditExportSeconds }: LoopSettings): number =>
  Math.min(60_000, Math.max(1_000, (auditExportSeconds * 1000) / 5));

async function auditOnce({ audit, auditFiles: files, settings, ...parts }: LoopParts): Promise<void> {
  if (audit === null || files === null) return;
  const { environmentName: environment, auditExportSeconds: everySeconds } = settings;
  await exportAudit({ ...parts, audit, files, environment, everySeconds });
}
