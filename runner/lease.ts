import { type CallToolResult, ResourceNotFoundError } from '@modelcontextprotocol/server';
import { SHOW_TOOL } from '../contract/app-names.ts';
import type { Toolset } from '../contract/assignment.ts';
import { leaseEnded } from '../contract/lease-ended.ts';
import { CHAT_VIEWER } from '../contract/live.ts';
import { APP_RESOURCE, APP_URI, appContents, isAppTool, withApp } from '../contract/mcp-app.ts';
import type { KeepPages } from '../contract/page-names.ts';
import { CODE_META } from '../contract/tool-failure.ts';
import type { Freezer } from './browser/freezer.ts';
import type { Conceal } from './budget/cut.ts';
import { fitted } from './budget/fit.ts';
import type { Captures } from './capture/captures.ts';
import type { FileLimits } from './files/limits.ts';
import { type LeaseFiles, type SessionFiles, sessionFiles } from './files/session-files.ts';
import type { Hibernation } from './hibernation/hibernation.ts';
import { instructions } from './instructions.ts';
import { type CallOptions, judgedCalls, listed, SESSION_MISMATCH } from './judged-calls.ts';
import { appCalls } from './live/app-calls.ts';
import { liveExchanges } from './live/exchanges.ts';
import { type LiveView, liveView } from './live/live-view.ts';
import { challengeNotes } from './mcp/challenge-notes.ts';
import { consoleMessages } from './mcp/console-messages.ts';
import { downloads } from './mcp/downloads.ts';
import type { ServedTools } from './mcp/endpoint.ts';
import { fileResources } from './mcp/file-resources.ts';
import { leaseName } from './mcp/lease-name.ts';
import type { PageFacts } from './mcp/page-facts.ts';
import { leaseTools } from './mcp/toolset.ts';
import { upstreamTabOf } from './mcp/upstream-tab.ts';
import { type KeptPages, keptPages } from './pages/kept-pages.ts';
import type { Recording } from './recording/recording.ts';
import type { Redeemed } from './redeem.ts';
import type { ControllerClient } from './reporting/controller-client.ts';
import type { EventQueue } from './reporting/events.ts';
import { type Redact, type Redactor, redactJson } from './reporting/redact.ts';
import { callSpan } from './reporting/trace.ts';
import { beforeFill } from './secrecy/before-fill.ts';
import { type Documents, trackDocuments } from './secrecy/documents.ts';
import { filledFields } from './secrecy/filled-fields.ts';
import { maskFields } from './secrecy/mask-fields.ts';
import type { Pictures } from './secrecy/pictures.ts';
import { secrecyRules } from './secrecy/rules.ts';
import { typedPasswords } from './secrecy/typed-passwords.ts';
import { credentials } from './tools/credentials.ts';
import { loginOrigins } from './tools/login-origins.ts';
import { choosesAnew } from './tools/options-of.ts';
import { profileAccess } from './tools/profile-access.ts';
import { structured } from './tools/result.ts';
import { screenshot, withImageText } from './tools/screenshot.ts';
import { totpCodes } from './tools/totp.ts';

export interface LeaseOptions extends CallOptions {
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

/** Web content may hold instructions of strangers: a platform can quarantine what carries this mark (A5). */
export const UNTRUSTED = { 'omicron.dev/untrusted': true } as const;

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
  const { sessionId, redeemed, playwright, lifetime, events, recording, captures, policy, controller, clock } = options;
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
    onTaken: (viewer, from) =>
      events.add('control.taken', {
        viewer: redactJson(viewer, redact),
        ...(from && { from: redactJson(from.name, redact), reason: from.reason }),
      }),
    onControlEnded: (viewer, why, seconds) =>
      events.add('control.given_back', { viewer: redactJson(viewer, redact), why, seconds }),
  });
  const files = sessionFiles({
    ...{ outputDir: options.outputDir, limits: options.fileLimits, beforeFirst: options.writeOrder, conceal },
    onAdded: ({ name, source, bytes }) => events.add('file.added', { name: redact(name), source, bytes }),
  });
  const pages = keptPages({
    ...{ keep: options.keepPages, outputDir: options.outputDir, clock },
    ...{ pictures: options.pictures, documents, conceal, beforeFirst: options.writeOrder },
    ...{ answeringTab: playwright.answeringTab, use: options.freezer.use, onFailed: options.onPageLost },
  });
  const leaseFiles: LeaseFiles = {
    ...files,
    mayReadBytes: ({ source, isTainted }) => !isTainted && (source === 'upload' || !documents.isGuarding()),
    uploadsDir: playwright.uploadsDir,
  };
  const available = leaseTools(options.toolset, {
    playwright,
    clock,
    rules: secrecyRules({
      ...{ documents, fields, before, choosesAnew },
      requestAt: (page, index) => upstreamTabOf(page)._requests[index - 1],
    }),
    lease: {
      sessionId,
      credentials: logins,
      ...{ documents, before },
      pictures: options.pictures,
      conceal,
      files: leaseFiles,
      profiles: profileAccess(controller, leaseToken, options.saveProfile),
      askUser: (request, signal) =>
        live.requests.during(request, () => controller.askUser(leaseToken, request, signal)),
      openActions: new Map(),
      audit: (domain, status) => events.add('login', { domain, status }),
    },
  });
  playwright.setSecrets(secrets, conceal, documents.isGuarding);
  playwright.incidents.listen(({ kind, url, why }) =>
    events.add(kind, { url: redactJson(url, redact), reason: redactJson(why, redact) }),
  );
  events.add('secrets.loaded', { names: Object.keys(secrets) });
  const messages = consoleMessages({
    context: options.context,
    conceal,
    isClosed: () => documents.isGuarding() || !policy.lists('browser_console_messages'),
  });
  const resources = fileResources({ files: leaseFiles, conceal });
  const arrivals = downloads({
    ...{ context: options.context, documents, files, resources, conceal },
    onFailed: options.onFileLost,
  });
  const isOwnName = leaseName(sessionId);
  const challenges = challengeNotes({
    tab: playwright.answeringTab,
    challenge: playwright.challenge,
    onSeen: (challenge, url) => events.add('challenge.seen', { challenge, url: redactJson(url, redact) }),
  });
  const run = judgedCalls(options, { available, live, messages, arrivals, challenges, pages, isOwnName });
  const socket = (signal: AbortSignal) => controller.liveSocket(leaseToken, signal);
  const app = appCalls({
    ...{ live, exchanges: liveExchanges({ live, claims: CHAT_VIEWER, clock }), socket },
    answer: (id, given, signal) => controller.answerUser(leaseToken, id, given, signal),
  });
  const mayBeShown = () => policy.lists(SHOW_TOOL);

  return {
    ...{ live, files, pages, documents },
    listTools: showsApps =>
      showsApps && mayBeShown() ? withApp(listed(available, policy)) : listed(available, policy),
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
      const finished = started(options);
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
      const span = callSpan(caller.traceparent);
      const finished = started(options);
      const callEnded = pages.callStarted();
      const startMs = clock.nowMs();
      try {
        if (await options.hibernation.overtook()) return leaseEnded('hibernated');
        await recording.ready;
        const before = await fields.texts();
        const { result: raw, verdict, tokensMax, page } = await run(name, args, caller);
        const held = new Map([...before, ...(await fields.texts())]);
        const concealed: Conceal = async text => redact(maskFields(text, held));
        const bounds = { tool: name, tokensMax: tokensMax ?? options.tokensMax, conceal: concealed };
        const result = structured(await fitted(await told(raw, concealed), bounds));
        events.add('tool.call', {
          tool: redact(name).slice(0, 128),
          arguments: redactJson(args, redact),
          outcome: verdict === undefined ? (result.isError ? 'error' : 'ok') : 'blocked',
          duration_ms: Math.round(clock.nowMs() - startMs),
          ...(page && factsOf(page, redact)),
          ...span,
          ...(result.isError ? { error: redactJson(firstText(result), redact) } : {}),
          ...(verdict === undefined ? {} : { layer: verdict.layer, rule: verdict.index }),
        });
        const asText = name === screenshot.tool.name && (args.imageText ?? options.imageText) === true;
        return { ...(asText ? withImageText(result) : result), _meta: { ...UNTRUSTED, ...codeOf(raw) } };
      } finally {
        callEnded();
        finished();
      }
    },
  };
}

/** A call counts as activity, and its browser runs. */
function started({ lifetime, freezer }: LeaseOptions): () => void {
  const finished = lifetime.callStarted();
  const unused = freezer.use();
  return () => {
    unused();
    finished();
  };
}

const codeOf = ({ _meta }: CallToolResult): Record<string, unknown> => {
  const code = _meta?.[CODE_META];
  return code === undefined ? {} : { [CODE_META]: code };
};

const factsOf = (page: PageFacts, redact: Redact) =>
  Object.fromEntries(Object.entries(page).map(([name, value]) => [name, redactJson(value, redact)]));

const firstText = ({ content: [first] }: CallToolResult): string => (first?.type === 'text' ? first.text : '');

/** Texts and pictures as they are, names of links without secrets; anything else a tool might answer is left out. */
async function told(result: CallToolResult, conceal: Conceal): Promise<CallToolResult> {
  const content: CallToolResult['content'] = [];
  for (const part of result.content) {
    if (part.type === 'text') content.push({ type: 'text', text: part.text });
    else if (part.type === 'image') content.push(part);
    else if (part.type === 'resource_link') content.push({ ...part, name: await conceal(part.name) });
  }
  return { content, ...(result.isError ? { isError: true } : {}) };
}
