import { type ReadResourceResult, ResourceNotFoundError } from '@modelcontextprotocol/server';
import { SHOW_TOOL } from '../../contract/app-names.ts';
import { CHAT_VIEWER } from '../../contract/live.ts';
import { APP_RESOURCE, APP_URI, appContents, isAppTool, withApp } from '../../contract/mcp-app.ts';
import { SESSION_MISMATCH } from '../calls/admit.ts';
import { inAgentSpan } from '../calls/agent-span.ts';
import type { Caller } from '../calls/caller.ts';
import { UNTRUSTED } from '../calls/conceal.ts';
import { beginActivity } from '../calls/keep-alive.ts';
import { listTools } from '../calls/lease-tools.ts';
import { runStages } from '../calls/stage.ts';
import { appCalls } from '../live/app-calls.ts';
import { liveExchanges } from '../live/exchanges.ts';
import type { ServedTools } from '../mcp/endpoint.ts';
import { setProfile } from '../tools/set-profile.ts';
import type { CallParts, LeaseCalls } from './calls.ts';
import { instructions } from './instructions.ts';
import type { LeaseOptions } from './options.ts';

/** A site that offered the file may have named it after a guess. */
const NO_WORDS = (): boolean => false;
/** No tool has a longer name. */
const NAME_CHARACTERS_MAX = 128;
const URI_CHARACTERS_MAX = 128;

/** Tools and resources of a lease for its MCP endpoint. */
export function servedTools(options: LeaseOptions, parts: CallParts, calls: LeaseCalls): ServedTools {
  const { redeemed, redactor, controller, clock } = options;
  const { leaseToken } = redeemed;
  const { live, policy, lifetime } = parts;
  const { stages, available, resources, isOwnName } = calls;
  const socket = (signal: AbortSignal) => controller.liveSocket(leaseToken, signal);
  const app = appCalls({
    live,
    exchanges: liveExchanges({ live, claims: CHAT_VIEWER, clock }),
    socket,
    answer: (id, given, signal) => controller.answerUser(leaseToken, id, given, signal),
  });
  const opensApp = (showsApps: boolean) => showsApps && policy.lists(SHOW_TOOL);

  return {
    instructions: instructions(parts.credentials.names, options.profile?.expired ?? []),
    listTools(showsApps) {
      const tools = listTools(available, policy);
      return opensApp(showsApps) ? withApp(tools) : tools;
    },
    listResources: showsApps => [
      ...(opensApp(showsApps) ? [APP_RESOURCE] : []),
      ...resources.list().map(file => ({ ...file, name: redactor.redactWords(file.name, NO_WORDS) })),
    ],
    async readResource(uri, caller) {
      if (uri !== APP_URI) return readFileResource(options, parts, calls, uri, caller);
      const opened = await socket(caller.signal).catch(() => null); // without one the page shows the browser by calls
      return { contents: [appContents(opened === null ? [] : [new URL(opened.url).origin])] };
    },
    endsLease: name => name === setProfile.name,
    async call(longName, args, caller) {
      const name = longName.slice(0, NAME_CHARACTERS_MAX);
      if (!isAppTool(name) || !opensApp(caller.showsApps) || lifetime.isOver())
        return runStages(stages, { name, given: args, caller });
      const { sessionId, ...given } = args;
      return isOwnName(sessionId) ? app.call(name, given, caller.signal) : SESSION_MISMATCH;
    },
  };
}

/** Reads a file as a resource: it counts as activity and is in the timeline, like a call. */
async function readFileResource(
  { redactor: { redact }, clock, work: { spans } }: LeaseOptions,
  { lifetime, freezer, hibernation, events }: CallParts,
  { resources }: LeaseCalls,
  uri: string,
  caller: Pick<Caller, 'traceparent' | 'protocolVersion'>,
): Promise<ReadResourceResult> {
  if (lifetime.isOver()) throw new ResourceNotFoundError(uri, 'The lease has ended.');
  return inAgentSpan('resources/read', caller, spans, async (_span, ids) => {
    const finished = beginActivity({ lifetime, freezer });
    const startMs = clock.nowMs();
    let outcome = 'error';
    try {
      if (await hibernation.overtook()) throw new ResourceNotFoundError(uri, 'The lease has ended.');
      const contents = [await resources.read(uri)];
      outcome = 'ok';
      return { contents, _meta: UNTRUSTED };
    } finally {
      events.add('tool.call', {
        tool: 'resources/read',
        arguments: { uri: redact(uri.slice(0, URI_CHARACTERS_MAX)) },
        outcome,
        duration_ms: Math.round(clock.nowMs() - startMs),
        ...ids,
      });
      finished();
    }
  });
}
