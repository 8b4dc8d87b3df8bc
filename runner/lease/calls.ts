import { choosesAnew } from '../acting/options-of.ts';
import { stagesOf } from '../calls/call.ts';
import { leaseName } from '../calls/lease-name.ts';
import { type LeaseTool, leaseTools } from '../calls/lease-tools.ts';
import { challengeNotes } from '../calls/notes/challenge-notes.ts';
import { consoleNotes } from '../calls/notes/console-notes.ts';
import { downloads } from '../calls/notes/downloads.ts';
import { httpLogins } from '../calls/notes/http-logins.ts';
import { outsideNotes } from '../calls/notes/outside.ts';
import type { Stage } from '../calls/stage.ts';
import type { Hibernation } from '../hibernation/hibernation.ts';
import { type FileResources, fileResources } from '../mcp/file-resources.ts';
import type { Recording } from '../recording/recording.ts';
import { redactJson } from '../reporting/redact.ts';
import { secrecyRules } from '../secrecy/rules.ts';
import { consoleMessages as consoleTool } from '../tools/console-messages.ts';
import { profileAccess } from '../tools/profile-access.ts';
import type { ToolLease } from '../tools/tool-lease.ts';
import { upstreamTabOf } from '../upstream/upstream-tab.ts';
import type { LeaseContent } from './content.ts';
import type { LeaseOptions } from './options.ts';
import type { LeaseReports } from './reports.ts';
import type { LeaseSecrets } from './secrets.ts';

/** The parts of a lease that its calls are run by. */
export interface CallParts extends LeaseReports, LeaseSecrets, LeaseContent {
  readonly recording: Recording;
  readonly hibernation: Hibernation;
  /** Saves the profile of the lease; undefined: it has none. */
  readonly saveProfile: (() => Promise<number>) | undefined;
}

export interface LeaseCalls {
  readonly stages: readonly Stage[];
  readonly available: ReadonlyMap<string, LeaseTool>;
  readonly resources: FileResources;
  /** Whether a call's `sessionId` is of this lease. */
  readonly isOwnName: (given: unknown) => boolean;
}

/** The tools of a lease, and the stages through which its calls go. */
export function leaseCalls(options: LeaseOptions, parts: CallParts): LeaseCalls {
  const { assignment, redactor, work, settings, clock } = options;
  const { documents, fields, before, conceal } = parts;
  const { toolset = settings.toolset, snapshot = settings.snapshot } = assignment.options;
  const available = leaseTools(toolset, work.tools);
  const resources = fileResources({ files: parts.leaseFiles, conceal });
  const isOwnName = leaseName(assignment.session_id);
  const stages = stagesOf({
    browser: work,
    available,
    isOwnName,
    tools: toolLease(options, parts),
    policy: parts.policy,
    rules: secrecyRules({
      documents,
      fields,
      before,
      choosesAnew,
      requestAt: (page, index) => upstreamTabOf(page)._requests[index - 1],
    }),
    fields,
    own: parts.own,
    redact: redactor.redact,
    texts: options.texts,
    live: parts.live,
    pages: parts.pages,
    ...noteParts(options, parts, resources),
    lifetime: parts.lifetime,
    freezer: parts.freezer,
    events: parts.events,
    forwarder: options.forwarder,
    clock,
    isHibernated: parts.hibernation.overtook,
    recordingReady: parts.recording.ready,
    snapshot,
    tokensMax: settings.tokensMax,
    imageText: settings.imageText,
  });
  return { stages, available, resources, isOwnName };
}

/** The part of the lease that the code of tools uses. */
function toolLease({ assignment, redeemed, controller }: LeaseOptions, parts: CallParts): ToolLease {
  const { leaseToken } = redeemed;
  const { live, events } = parts;
  return {
    sessionId: assignment.session_id,
    credentials: parts.credentials,
    documents: parts.documents,
    before: parts.before,
    pictures: parts.pictures,
    conceal: parts.conceal,
    files: parts.leaseFiles,
    profiles: profileAccess(controller, leaseToken, parts.saveProfile),
    askUser: (request, signal) => live.requests.during(request, () => controller.askUser(leaseToken, request, signal)),
    openActions: new Map(),
    audit: (domain, status) => events.add('login', { domain, status }),
  };
}

/** Follows what happens beside the answers of calls. */
function noteParts({ browser, work, redactor, log }: LeaseOptions, parts: CallParts, { linkTo }: FileResources) {
  const { context } = browser;
  const { documents, files, conceal, events, policy } = parts;
  const messages = consoleNotes({
    context,
    conceal,
    isClosed: () => documents.isGuarding() || !policy.lists(consoleTool.name),
  });
  const arrivals = downloads({
    context,
    documents,
    files,
    conceal,
    linkTo,
    onFailed: error => log.warn({ err: error }, 'download not kept'),
  });
  const challenges = challengeNotes({
    tab: work.answeringTab,
    challenge: work.parts.settler.challenge,
    onSeen: (challenge, url) => events.add('challenge.seen', { challenge, url: redactJson(url, redactor.redact) }),
  });
  const outside = outsideNotes(context, error => log.warn({ err: error }, 'printing not told'));
  const logins = httpLogins(context, parts.credentials.namesFor);
  return { messages, arrivals, challenges, outside, logins };
}
