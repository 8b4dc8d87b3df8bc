import type { HibernateOrder } from '../../contract/hibernation.ts';
import { AUDIENCES } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import type { SavedTabs } from '../../contract/saved-tabs.ts';
import type { Freezer } from '../browser/freezer.ts';
import { type Captures, captureTabs } from '../capture/captures.ts';
import type { SessionFiles } from '../files/session-files.ts';
import { type Hibernation, hibernation } from '../hibernation/hibernation.ts';
import { type Admission, liveAdmission } from '../live/admission.ts';
import type { LiveView } from '../live/live-view.ts';
import { type McpEndpoint, mcpEndpoint } from '../mcp/endpoint.ts';
import { readBrowserState } from '../profile/browser-state.ts';
import { saveAtCheckpoints } from '../profile/checkpoints.ts';
import type { OpenProfile } from '../profile/lease-profile.ts';
import { NO_RECORDING, type Recording, startRecording } from '../recording/recording.ts';
import type { EventQueue } from '../reporting/events.ts';
import { redactJson } from '../reporting/redact.ts';
import type { Documents } from '../secrecy/documents.ts';
import { guardPictures } from '../secrecy/pictures.ts';
import { openTabs, readTabs } from '../tabs/saved-tabs.ts';
import { type CallParts, leaseCalls } from './calls.ts';
import { leaseContent } from './content.ts';
import type { LeaseOptions } from './options.ts';
import { type LeaseReports, leaseReports } from './reports.ts';
import { leaseSecrets } from './secrets.ts';
import { servedTools } from './served-tools.ts';
import { uploadOrderOf, uploadOrderWriter } from './upload-order.ts';

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

/** Starts everything that a lease has: its clock, timeline, recording, policy and MCP endpoint. */
export function serveLease(options: LeaseOptions): ServedLease {
  const { assignment, redeemed, redactor, work, browser, forwarder, clock, settings } = options;
  const reports = leaseReports(options, () => endpoint.toolsChanged());
  const { events } = reports;
  const pictures = guardPictures(browser.context);
  const captures = captureTabs({ context: browser.context, pictures, clock });
  const writeOrder = uploadOrderWriter(settings.outputDir, uploadOrderOf(assignment, redeemed));
  const recording = recordLease(options, captures, events, writeOrder);
  const saveProfile = options.profile && savesOf(options.profile, reports.freezer, options.signal);
  const secrets = leaseSecrets(options, reports, { captures, pictures });
  forwarder?.lease({
    runnerId: assignment.runner_id,
    credential: redeemed.egressCredential,
    holdsSecret: redactor.holds,
    traceparent: () => work.spans.traceparent,
    certificateFor: secrets.certificateFor,
  });
  const content = leaseContent(options, reports, secrets, { captures, writeOrder });
  const hibernating = leaseHibernation(options, reports, secrets.documents);
  const parts = { ...reports, ...secrets, ...content, recording, saveProfile, hibernation: hibernating };
  const calls = leaseCalls(options, parts);
  work.setSecrets(Object.keys(redeemed.secrets), secrets.conceal, secrets.documents.isGuarding);
  work.incidents.listen(({ kind, url, why }) =>
    events.add(kind, { url: redactJson(url, redactor.redact), reason: redactJson(why, redactor.redact) }),
  );
  events.add('secrets.loaded', { names: Object.keys(redeemed.secrets) });
  const endpoint = mcpEndpoint(servedTools(options, parts, calls), clock);
  startCheckpoints(options, reports, saveProfile);
  return leaseOf(options, parts, endpoint);
}

/** The served lease, as the runner uses it. */
function leaseOf(options: LeaseOptions, parts: CallParts, endpoint: McpEndpoint): ServedLease {
  const { assignment, browser, work, keys, log } = options;
  const { events, lifetime, freezer, recording, live, files, pages, saveProfile } = parts;
  return {
    endpoint,
    live,
    files,
    admission: liveAdmission({
      keys,
      audience: AUDIENCES.live(assignment.runner_id, assignment.boot_id),
      lease: assignment,
      nowMs: Date.now,
    }),
    saveProfile,
    browserCrashed() {
      lifetime.stop();
      freezer.close();
      const detail = browser.whyEnded() ?? 'the browser process ended';
      void browser
        .end()
        .then(({ exit = null, stopped }) => events.add('browser.crashed', { detail, exit, stopped: [...stopped] }));
      void recording.stop();
    },
    async close(reason) {
      lifetime.stop();
      freezer.close();
      await Promise.all([endpoint.close(reason), live.close()]);
      work.spans.lease?.end();
    },
    stopRecording: recording.stop,
    hibernate: parts.hibernation.run,
    reopenTabs: tabs => reopenTabs(options, tabs, events),
    keepLastPage: pages.close,
    async closeProfile(unused) {
      const lost = await options.profile?.close(unused);
      if (lost === undefined) return;
      log.warn({ err: lost }, 'profile not saved');
      events.add('profile.save_failed', { code: lost.code, detail: lost.message });
    },
    flushEvents: events.flush,
  };
}

/** The profile is one that the lease saves. */
const isSaved = ({ assignment }: LeaseOptions): boolean => assignment.options.profile?.mode === 'read-write';

function leaseHibernation(
  options: LeaseOptions,
  { freezer, events }: LeaseReports,
  documents: Pick<Documents, 'isGuarding'>,
): Hibernation {
  const { browser, profile, texts, redeemed, controller, clock, log } = options;
  return hibernation({
    freezer,
    clock,
    signal: options.signal,
    onOver: options.onEnd,
    async read(signal) {
      if (isSaved(options)) await profile?.save(signal);
      const tabs = await readTabs(browser.context, texts.holdsEach);
      const state = isSaved(options) ? null : (await readBrowserState(browser.context)).state;
      return { ...tabs, state, tainted: documents.isGuarding() };
    },
    keep: (order, snapshot, signal) => controller.hibernate(redeemed.leaseToken, order, snapshot, signal),
    onFailed(error) {
      log.warn({ err: error }, 'session not hibernated');
      const code = error instanceof OmicronError ? error.code : 'internal_error';
      events.add('session.hibernate_failed', { code });
    },
  });
}

function startCheckpoints(options: LeaseOptions, { freezer }: LeaseReports, save: CallParts['saveProfile']): void {
  const { settings, clock, signal, log } = options;
  if (save === undefined || !isSaved(options)) return;
  void saveAtCheckpoints({
    everyMs: settings.checkpointSeconds * 1_000,
    clock,
    usedAtMs: freezer.usedAtMs,
    save,
    signal,
    warn: err => log.warn({ err }, 'profile not saved at its checkpoint'),
  });
}

/** How long a lease waits for its tabs; a slow site goes on loading. */
const TABS_MS = 2_500;

/** Opens the tabs, and makes tools act on the one that was active. */
async function reopenTabs(
  { browser, work }: LeaseOptions,
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

function recordLease(
  { assignment, browser, settings, clock, log }: LeaseOptions,
  captures: Captures,
  events: EventQueue,
  writeOrder: () => Promise<void>,
): Recording {
  if (!assignment.options.record_video) return NO_RECORDING;
  const { ffmpegPath: ffmpeg, outputDir } = settings;
  return startRecording({
    context: browser.context,
    ffmpeg,
    outputDir,
    captures,
    clock,
    writeOrder,
    onStarted: details => events.add('recording.started', details),
    onStopped(details) {
      log.warn(details, 'recording stopped');
      events.add('recording.stopped', details);
    },
  });
}
