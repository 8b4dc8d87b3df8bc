import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import type { BrowserContext } from 'playwright-core';
import { SHOW_TOOL } from '../contract/app-names.ts';
import type { Snapshot, Toolset } from '../contract/assignment.ts';
import { CHAT_VIEWER } from '../contract/live.ts';
import { APP_RESOURCE, APP_URI, appContents, isAppTool, withApp } from '../contract/mcp-app.ts';
import type { KeepPages } from '../contract/page-names.ts';
import type { Clock } from '../http/clock.ts';
import { choosesAnew } from './acting/options-of.ts';
import type { EgressForwarder } from './browser/egress-forwarder.ts';
import type { Freezer } from './browser/freezer.ts';
import type { Conceal } from './budget/cut.ts';
import { SESSION_MISMATCH } from './calls/admit.ts';
import type { BrowserWork } from './calls/browser-work.ts';
import { stagesOf } from './calls/call.ts';
import { UNTRUSTED } from './calls/conceal.ts';
import { callStarted } from './calls/keep-alive.ts';
import { leaseName } from './calls/lease-name.ts';
import { leaseTools, listTools } from './calls/lease-tools.ts';
import { challengeNotes } from './calls/notes/challenge-notes.ts';
import { consoleMessages } from './calls/notes/console-messages.ts';
import { downloads } from './calls/notes/downloads.ts';
import { runStages } from './calls/stage.ts';
import type { ToolPolicy } from './calls/tool-policy.ts';
import type { Captures } from './capture/captures.ts';
import { credentials } from './credentials/credentials.ts';
import { loginOrigins } from './credentials/login-origins.ts';
import { totpCodes } from './credentials/totp.ts';
import type { FileLimits } from './files/limits.ts';
import { type LeaseFiles, type SessionFiles, sessionFiles } from './files/session-files.ts';
import type { Hibernation } from './hibernation/hibernation.ts';
import { instructions } from './instructions.ts';
import { appCalls } from './live/app-calls.ts';
import { liveExchanges } from './live/exchanges.ts';
import { type LiveView, liveView } from './live/live-view.ts';
import type { ServedTools } from './mcp/endpoint.ts';
import { fileResources } from './mcp/file-resources.ts';
import { type KeptPages, keptPages } from './pages/kept-pages.ts';
import type { Recording } from './recording/recording.ts';
import type { Redeemed } from './redeem.ts';
import type { ControllerClient } from './reporting/controller-client.ts';
import type { EventQueue } from './reporting/events.ts';
import type { LeaseClock } from './reporting/lease-clock.ts';
import { type Redactor, redactJson } from './reporting/redact.ts';
import { callSpan } from './reporting/trace.ts';
import { beforeFill } from './secrecy/before-fill.ts';
import { type Documents, trackDocuments } from './secrecy/documents.ts';
import { filledFields } from './secrecy/filled-fields.ts';
import { maskFields } from './secrecy/mask-fields.ts';
import type { Pictures } from './secrecy/pictures.ts';
import { secrecyRules } from './secrecy/rules.ts';
import { typedPasswords } from './secrecy/typed-passwords.ts';
import { consoleMessages as consoleTool } from './tools/console-messages.ts';
import { profileAccess } from './tools/profile-access.ts';
import type { ToolLease } from './tools/tool-lease.ts';
import { upstreamTabOf } from './upstream/upstream-tab.ts';

export interface LeaseOptions {
  readonly context: BrowserContext;
  readonly work: BrowserWork;
  readonly lifetime: LeaseClock;
  readonly policy: ToolPolicy;
  readonly snapshot: Snapshot;
  /** About how many tokens the text of an answer takes at most. */
  readonly tokensMax: number;
  readonly forwarder: EgressForwarder | undefined;
  readonly clock: Clock;
  readonly sessionId: string;
  readonly redeemed: Redeemed;
  /** Of the lease's secrets; it learns codes and edited values. */
  readonly redactor: Redactor;
  /** Whether what was restored, from a profile or a snapshot, may hold a password, as a site may have stored it. */
  readonly isRestoredTainted: boolean;
  readonly events: EventQueue;
  readonly recording: Recording;
  readonly captures: Captures;
  readonly freezer: Freezer;
  readonly hibernation: Hibernation;
  /** Domains of the profile at which the agent has to log in again. */
  readonly expiredLogins: readonly string[];
  /** Saves the profile of the lease; undefined: it has none. */
  readonly saveProfile: (() => Promise<number>) | undefined;
  readonly pictures: Pictures;
  readonly controller: ControllerClient;
  readonly toolset: Toolset;
  readonly keepPages: KeepPages;
  /** Whether pictures of `browser_screenshot` are in its text too, unless the call says otherwise. */
  readonly imageText: boolean;
  readonly insecureLoginOrigins: readonly string[];
  readonly outputDir: string;
  readonly fileLimits: FileLimits;
  /** Puts what the uploader needs on disk. */
  readonly writeOrder: () => Promise<void>;
  /** A download that could not be kept. */
  readonly onFileLost: (error: unknown) => void;
  /** A page that could not be kept. */
  readonly onPageLost: (error: unknown) => void;
}

/**
 * What the agents of one lease may do with its browser. Each call is judged by the policy, counts as activity, is
 * written to the timeline, and has the secrets taken out of its result.
 */
export function openLease(options: LeaseOptions): ServedTools & {
  readonly live: LiveView;
  readonly files: SessionFiles;
  readonly pages: KeptPages;
  readonly documents: Documents;
} {
  const { sessionId, redeemed, work, lifetime, events, recording, captures, policy, controller, clock } = options;
  const { secrets, sites, leaseToken } = redeemed;
  const { redact, holds, add } = options.redactor;
  const mint = (site: string, signal: AbortSignal) => controller.totp(leaseToken, site, signal);
  const codes = totpCodes(mint, clock, (code, isSecret) => add('TOTP', code, 'code', isSecret));
  const documents = trackDocuments(options.context, holds);
  const before = beforeFill(options.context, documents.isTainted);
  if (options.isRestoredTainted) documents.guard();
  const fields = filledFields({ holdsSecret: holds, onEdited: (name, text) => add(name, text, 'edited') });
  const logins = credentials({
    secrets,
    sites,
    origins: loginOrigins({ sites, policy: policy.current, insecureOrigins: options.insecureLoginOrigins }),
    code: codes.now,
    withoutPictures: captures.withoutPictures,
    pictures: options.pictures,
    documents,
    fields,
    before,
  });
  const conceal: Conceal = async text => redact(maskFields(text, await fields.texts()));
  const live = liveView({
    ...{ context: options.context, captures, freezer: options.freezer, conceal, clock },
    beforeAgent: typedPasswords({ context: options.context, fields, documents, pictures: options.pictures, add }),
    onTaken: ({ name, identity }, from) =>
      events.add('control.taken', {
        ...{ viewer: redactJson(name, redact), identity: redactJson(identity, redact) },
        ...(from && { from: redactJson(from.name, redact), reason: from.reason }),
      }),
    onControlEnded: ({ name, identity }, why, seconds) =>
      events.add('control.given_back', {
        ...{ viewer: redactJson(name, redact), identity: redactJson(identity, redact), why, seconds },
      }),
  });
  const files = sessionFiles({
    ...{ outputDir: options.outputDir, limits: options.fileLimits, beforeFirst: options.writeOrder, conceal },
    onAdded: ({ name, source, bytes }) => events.add('file.added', { name: redact(name), source, bytes }),
  });
  const pages = keptPages({
    ...{ keep: options.keepPages, outputDir: options.outputDir, clock },
    ...{ pictures: options.pictures, documents, conceal, beforeFirst: options.writeOrder },
    ...{ answeringTab: work.answeringTab, use: options.freezer.use, onFailed: options.onPageLost },
  });
  const leaseFiles: LeaseFiles = {
    ...files,
    mayReadBytes: ({ source, isTainted }) => !isTainted && (source === 'upload' || !documents.isGuarding()),
    uploadsDir: work.uploadsDir,
  };
  const tools: ToolLease = {
    ...{ sessionId, documents, before, conceal, credentials: logins, files: leaseFiles },
    pictures: options.pictures,
    profiles: profileAccess(controller, leaseToken, options.saveProfile),
    askUser: (request, signal) => live.requests.during(request, () => controller.askUser(leaseToken, request, signal)),
    openActions: new Map(),
    audit: (domain, status) => events.add('login', { domain, status }),
  };
  const available = leaseTools(options.toolset, work.tools);
  work.setSecrets(secrets, conceal, documents.isGuarding);
  work.incidents.listen(({ kind, url, why }) =>
    events.add(kind, { url: redactJson(url, redact), reason: redactJson(why, redact) }),
  );
  events.add('secrets.loaded', { names: Object.keys(secrets) });
  const messages = consoleMessages({
    context: options.context,
    conceal,
    isClosed: () => documents.isGuarding() || !policy.lists(consoleTool.name),
  });
  const resources = fileResources({ files: leaseFiles, conceal });
  const arrivals = downloads({
    ...{ context: options.context, documents, files, conceal, linkTo: resources.linkTo },
    onFailed: options.onFileLost,
  });
  const isOwnName = leaseName(sessionId);
  const challenges = challengeNotes({
    tab: work.answeringTab,
    challenge: work.parts.settler.challenge,
    onSeen: (challenge, url) => events.add('challenge.seen', { challenge, url: redactJson(url, redact) }),
  });
  const stages = stagesOf({
    ...{ browser: work, available, tools, policy, fields, redact, live, pages, messages, arrivals, challenges },
    ...{ lifetime, events, clock, isOwnName, freezer: options.freezer, forwarder: options.forwarder },
    rules: secrecyRules({
      ...{ documents, fields, before, choosesAnew },
      requestAt: (page, index) => upstreamTabOf(page)._requests[index - 1],
    }),
    isHibernated: options.hibernation.overtook,
    recordingReady: recording.ready,
    ...{ snapshot: options.snapshot, tokensMax: options.tokensMax, imageText: options.imageText },
  });
  const socket = (signal: AbortSignal) => controller.liveSocket(leaseToken, signal);
  const app = appCalls({
    ...{ live, exchanges: liveExchanges({ live, claims: CHAT_VIEWER, clock }), socket },
    answer: (id, given, signal) => controller.answerUser(leaseToken, id, given, signal),
  });
  const mayBeShown = () => policy.lists(SHOW_TOOL);

  return {
    ...{ live, files, pages, documents },
    listTools: showsApps =>
      showsApps && mayBeShown() ? withApp(listTools(available, policy)) : listTools(available, policy),
    listResources: showsApps => [
      ...(showsApps && mayBeShown() ? [APP_RESOURCE] : []),
      ...resources.list().map(file => ({ ...file, name: redact(file.name) })),
    ],
    async readResource(uri, { signal, traceparent }) {
      if (uri === APP_URI) {
        const opened = await socket(signal).catch(() => null); // without one the page shows the browser by calls
        return { contents: [appContents(opened === null ? [] : [new URL(opened.url).origin])] };
      }
      if (lifetime.isOver()) throw new ResourceNotFoundError(uri, 'The lease has ended.');
      const finished = callStarted(options);
      const startMs = clock.nowMs();
      let outcome = 'error';
      try {
        if (await options.hibernation.overtook()) throw new ResourceNotFoundError(uri, 'The lease has ended.');
        const contents = [await resources.read(uri)];
        outcome = 'ok';
        return { contents, _meta: UNTRUSTED };
      } finally {
        events.add('tool.call', {
          ...{ tool: 'resources/read', arguments: { uri: redact(uri).slice(0, 128) }, outcome },
          ...{ duration_ms: Math.round(clock.nowMs() - startMs), ...callSpan(traceparent) },
        });
        finished();
      }
    },
    instructions: instructions(logins.names, options.expiredLogins),
    async call(name, args, caller) {
      if (isAppTool(name) && caller.showsApps && mayBeShown() && !lifetime.isOver()) {
        const { sessionId, ...given } = args;
        return isOwnName(sessionId) ? app.call(name, given, caller.signal) : SESSION_MISMATCH;
      }
      return runStages(stages, { name, given: args, caller });
    },
  };
}
