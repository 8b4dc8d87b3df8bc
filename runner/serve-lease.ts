import type { Logger } from 'pino';
import type { Assignment, Snapshot, Toolset } from '../contract/assignment.ts';
import type { HibernateOrder, SessionSnapshot } from '../contract/hibernation.ts';
import { AUDIENCES } from '../contract/names.ts';
import type { KeepPages } from '../contract/page-names.ts';
import { OmicronError } from '../contract/problem.ts';
import type { UploadOrder } from '../contract/reports.ts';
import type { SavedTabs } from '../contract/saved-tabs.ts';
import type { ControllerKeys } from '../contract/tokens.ts';
import type { Clock } from '../http/clock.ts';
import type { RunnerBrowser } from './browser/browser.ts';
import type { EgressForwarder } from './browser/egress-forwarder.ts';
import { browserFreezer, type Freezer } from './browser/freezer.ts';
import type { BrowserWork } from './calls/browser-work.ts';
import { toolPolicy } from './calls/tool-policy.ts';
import { type Captures, captureTabs } from './capture/captures.ts';
import type { FileLimits } from './files/limits.ts';
import type { SessionFiles } from './files/session-files.ts';
import { type Hibernation, hibernation } from './hibernation/hibernation.ts';
import { openLease } from './lease.ts';
import { type Admission, liveAdmission } from './live/admission.ts';
import type { LiveView } from './live/live-view.ts';
import { type McpEndpoint, mcpEndpoint } from './mcp/endpoint.ts';
import { readBrowserState } from './profile/browser-state.ts';
import { saveAtCheckpoints } from './profile/checkpoints.ts';
import type { OpenProfile } from './profile/lease-profile.ts';
import { NO_RECORDING, type Recording, startRecording } from './recording/recording.ts';
import type { Redeemed } from './redeem.ts';
import type { ControllerClient } from './reporting/controller-client.ts';
import { type EventQueue, eventQueue } from './reporting/events.ts';
import { leaseClock } from './reporting/lease-clock.ts';
import type { Redactor } from './reporting/redact.ts';
import { guardPictures } from './secrecy/pictures.ts';
import { openTabs, readTabs } from './tabs/saved-tabs.ts';
import { uploadOrderWriter } from './upload-order.ts';

/** A lease while it is served. */
export interface ServedLease {
  readonly endpoint: McpEndpoint;
  readonly live: LiveView;
  readonly files: SessionFiles;
  /** Checks the token of a viewer. Throws `unauthorized`. */
  readonly admission: Admission;
  /** Ends activity reports and the recording, and writes the crash to the timeline; agents are still answered. */
  browserCrashed(): void;
  /** Ends service; resolves when no agent is served any more: its calls answer why the lease has ended. */
  close(reason: string): Promise<void>;
  /** Finalises the recording. Never rejects. */
  stopRecording(): Promise<void>;
  /** Keeps the page that is there now, after `close`. Never rejects. */
  keepLastPage(): Promise<void>;
  /** Saves the profile now. Resolves with the version that holds it. Undefined: the lease has no profile. */
  readonly saveProfile: (() => Promise<number>) | undefined;
  /** Opens tabs that were saved. */
  reopenTabs(tabs: SavedTabs): Promise<void>;
  /** Gives the browser back and keeps the session. Throws `lease_in_use` where the lease goes on. */
  hibernate(order: HibernateOrder): Promise<void>;
  /** Saves the profile for the last time; the browser may be closed for it once `unused` has resolved. Never rejects. */
  closeProfile(unused: Promise<unknown>): Promise<void>;
  /** Sends what the timeline still lacks. Never rejects. */
  flushEvents(signal: AbortSignal): Promise<void>;
}

export interface ServeLeaseOptions {
  readonly assignment: Assignment;
  readonly redeemed: Redeemed;
  /** Of the lease's secrets: one for its tools, its profile and its way out. */
  readonly redactor: Redactor;
  readonly keys: ControllerKeys;
  readonly browser: RunnerBrowser;
  /** Restored already. */
  readonly profile: OpenProfile | undefined;
  /** What comes back of a hibernated session; its state is restored already. */
  readonly restored: SessionSnapshot | undefined;
  readonly work: BrowserWork;
  readonly controller: ControllerClient;
  readonly forwarder: EgressForwarder | undefined;
  /** Unless the lease asks for another. */
  readonly toolset: Toolset;
  /** Unless the lease or the call asks for another. */
  readonly snapshot: Snapshot;
  /** What is kept of pages, unless the lease asks for something else. */
  readonly keepPages: KeepPages;
  /** About how many tokens the text of an answer takes at most, unless the call asks for another number. */
  readonly tokensMax: number;
  /** Whether pictures of `browser_screenshot` are in its text too, unless the call says otherwise. */
  readonly imageText: boolean;
  /** Between saves of a profile that is used; 0: none but those asked for and the last one. */
  readonly checkpointMs: number;
  /** Without use, after which the browser is frozen; 0: never. */
  readonly freezeMs: number;
  readonly insecureLoginOrigins: readonly string[];
  readonly outputDir: string;
  readonly ffmpeg: string;
  readonly fileLimits: FileLimits;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called once: the lease is over. */
  readonly onEnd: (reason: string) => void;
  /** Aborts with the runner's end. */
  readonly signal: AbortSignal;
}

/** Starts everything that a lease has: its clock, timeline, recording, policy and MCP endpoint. */
export function serveLease(options: ServeLeaseOptions): ServedLease {
  const { assignment, redeemed, work, controller, forwarder, insecureLoginOrigins, clock, log } = options;
  const warn = (message: string, details: Record<string, unknown>) => log.warn(details, message);
  const { leaseToken, artifactToken, endsAtMs } = redeemed;
  const events = eventQueue({ controller, tokens: [leaseToken, artifactToken], clock, warn });
  const policy = toolPolicy({
    policy: redeemed.policy,
    sessionId: assignment.session_id,
    fetch: () => controller.policy(leaseToken, options.signal),
    onChange: () => endpoint.toolsChanged(),
    warn,
  });
  const lifetime = leaseClock({
    controller,
    leaseToken,
    endsAtMs,
    clock,
    onEnd: options.onEnd,
    onPolicyVersion: version => policy.seen(version),
    debug: (message, details) => log.debug(details, message),
  });
  const freezer = browserFreezer({
    pause: options.browser.pause,
    afterMs: options.freezeMs,
    clock,
    onFrozen: () => events.add('browser.frozen', {}),
    onThawed: frozenMs => events.add('browser.thawed', { seconds: Math.round(frozenMs / 1_000) }),
  });
  const isSaved = assignment.options.profile?.mode === 'read-write';
  const hibernating: Hibernation = hibernation({
    ...{ freezer, clock, signal: options.signal, onOver: options.onEnd },
    async read(signal) {
      if (isSaved) await options.profile?.save(signal);
      const tabs = await readTabs(options.browser.context, options.redactor.holds);
      const state = isSaved ? null : (await readBrowserState(options.browser.context)).state;
      return { ...tabs, state, tainted: served.documents.isGuarding() };
    },
    keep: (order, snapshot, signal) => controller.hibernate(leaseToken, order, snapshot, signal),
    onFailed(error) {
      log.warn({ err: error }, 'session not hibernated');
      const code = error instanceof OmicronError ? error.code : 'internal_error';
      events.add('session.hibernate_failed', { code });
    },
  });
  const pictures = guardPictures(options.browser.context);
  const captures = captureTabs({ context: options.browser.context, pictures, clock });
  const writeOrder = uploadOrderWriter(options.outputDir, orderOf(assignment, redeemed));
  const recording = recordLease(options, captures, events, writeOrder);
  forwarder?.lease({
    ...{ runnerId: assignment.runner_id, credential: redeemed.egressCredential },
    holdsSecret: options.redactor.holds,
  });
  const { toolset = options.toolset, snapshot = options.snapshot } = assignment.options;
  const { keep_pages: keepPages = options.keepPages } = assignment.options;
  const saveProfile = options.profile && savesOf(options.profile, freezer, options.signal);
  const served = openLease({
    context: options.browser.context,
    sessionId: assignment.session_id,
    ...{ redeemed, redactor: options.redactor, work, lifetime, events, recording, pictures, policy, controller },
    ...{ captures, freezer, expiredLogins: options.profile?.expired ?? [], saveProfile },
    hibernation: hibernating,
    isRestoredTainted: options.profile?.isTainted === true || options.restored?.tainted === true,
    ...{ toolset, snapshot, keepPages, tokensMax: options.tokensMax, imageText: options.imageText },
    ...{ insecureLoginOrigins, forwarder, clock },
    ...{ outputDir: options.outputDir, fileLimits: options.fileLimits, writeOrder },
    onFileLost: error => log.warn({ err: error }, 'download not kept'),
    onPageLost: error => log.warn({ err: error }, 'page not kept'),
  });
  const endpoint = mcpEndpoint(served, clock);
  if (saveProfile !== undefined && assignment.options.profile?.mode === 'read-write')
    void saveAtCheckpoints({
      ...{
        everyMs: options.checkpointMs,
        clock,
        usedAtMs: freezer.usedAtMs,
        save: saveProfile,
        signal: options.signal,
      },
      warn: err => log.warn({ err }, 'profile not saved at its checkpoint'),
    });
  return {
    endpoint,
    live: served.live,
    files: served.files,
    admission: liveAdmission({
      keys: options.keys,
      audience: AUDIENCES.live(assignment.runner_id, assignment.boot_id),
      lease: assignment,
      nowMs: Date.now,
    }),
    saveProfile,
    browserCrashed() {
      lifetime.stop();
      freezer.close();
      const detail = options.browser.whyEnded() ?? 'the browser process ended';
      void options.browser
        .end()
        .then(({ exit = null, stopped }) => events.add('browser.crashed', { detail, exit, stopped: [...stopped] }));
      void recording.stop();
    },
    async close(reason) {
      lifetime.stop();
      freezer.close();
      await Promise.all([endpoint.close(reason), served.live.close()]);
    },
    stopRecording: recording.stop,
    hibernate: hibernating.run,
    reopenTabs: tabs => reopen(options, tabs, events),
    keepLastPage: served.pages.close,
    async closeProfile(unused) {
      const lost = await options.profile?.close(unused);
      if (lost === undefined) return;
      log.warn({ err: lost }, 'profile not saved');
      events.add('profile.save_failed', { code: lost.code, detail: lost.message });
    },
    flushEvents: events.flush,
  };
}

/** How long a lease waits for its tabs; a slow site goes on loading. */
const TABS_MS = 2_500;

/** The tabs, and the one among them that tools act on. */
async function reopen(
  { browser, work }: ServeLeaseOptions,
  { tabs, active }: SavedTabs,
  events: EventQueue,
): Promise<void> {
  const signal = AbortSignal.timeout(TABS_MS);
  const loaded = await openTabs(browser.context, tabs, signal);
  if (active !== null) await work.selectTab(active, signal);
  events.add('tabs.restored', { tabs: tabs.length, loaded });
}

/** A save needs the browser to run. */
const savesOf = (profile: OpenProfile, freezer: Freezer, signal: AbortSignal) => (): Promise<number> => {
  const unused = freezer.use();
  return profile.save(signal).finally(unused);
};

const orderOf = (assignment: Assignment, { artifactToken, uploadCredential }: Redeemed): UploadOrder => ({
  session_id: assignment.session_id,
  epoch: assignment.epoch,
  runner_id: assignment.runner_id,
  record_video: assignment.options.record_video,
  artifacts_prefix: assignment.artifacts_prefix,
  artifact_token: artifactToken,
  ...(uploadCredential === undefined ? {} : { upload_credential: uploadCredential }),
});

function recordLease(
  options: ServeLeaseOptions,
  captures: Captures,
  events: EventQueue,
  writeOrder: () => Promise<void>,
): Recording {
  const { assignment, browser, ffmpeg, outputDir, clock, log } = options;
  if (!assignment.options.record_video) return NO_RECORDING;
  return startRecording({
    ...{ context: browser.context, ffmpeg, outputDir, captures, clock, writeOrder },
    onStarted: details => events.add('recording.started', details),
    onStopped(details) {
      log.warn(details, 'recording stopped');
      events.add('recording.stopped', details);
    },
  });
}
