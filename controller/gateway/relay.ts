import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Toolset } from '../../contract/assignment.ts';
import { leaseEndedResult } from '../../contract/lease-ended.ts';
import { isAppTool, withApp } from '../../contract/mcp-app.ts';
import { NO_LINKS_HEADER } from '../../contract/names.ts';
import { PROFILE_TOOLS } from '../../contract/policy/tools.ts';
import { OmicronError, PROBLEM_TYPE, PROBLEMS, problemSchema } from '../../contract/problem.ts';
import { getOrCreateRequest } from '../../contract/session.ts';
import { toolFailure } from '../../contract/tool-failure.ts';
import { toolsOf } from '../../contract/tool-list.ts';
import { RETRY, waitBackoff } from '../../time/backoff.ts';
import type { Clock } from '../../time/clock.ts';
import type { GetOrCreate } from '../lease/get-or-create.ts';
import type { Directory } from '../store/directory.ts';
import { type GatewayAnswer, INTERRUPTED, type OwnAnswers, ownAnswers, passAnswerOn, readText } from './answer.ts';
import { DEFAULT_HANDLE, handleOf, isModern, type ToolCallMessage, withoutHandle } from './handle.ts';
import { type LiveLeaseParts, liveLeases } from './live-leases.ts';
import { callRunner } from './runner-call.ts';

export interface RelayParts extends LiveLeaseParts {
  getOrCreate: Pick<GetOrCreate, 'run'>;
  directory: Directory;
  clock: Clock;
}

/** Why a call is broken off that its client still waits for. */
export class ReplicaStopped extends Error {}

/** Clients of the TypeScript SDK wait a minute for a call; the rest is for the call itself. */
const LEASE_MS = 45_000;
/** The part of the client's request that a runner gets; its token is not among it. */
const PASSED_HEADERS = ['accept', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id'];
/** Problems of a runner that has not begun the call: its lease has ended, or is another one by now. */
const BEFORE_CALL = new Set(['unauthorized', 'lease_ended']);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Leases the browser of the call's conversation and passes the call on under the lease's own token. A call that no runner has begun is
 * tried again with the lease of that moment; one that may have begun never is. Rejects when `signal` aborts because the client has gone; for a
 * ReplicaStopped it answers. One that `isCancelled` by a message, at whichever replica it came, is not begun; `cancelCall` informs a runner that has begun it.
 */
export function relay(parts: RelayParts, toolset: Toolset) {
  const { getOrCreate, directory, clock } = parts;
  // Tools that need a policy's leave are in no list that is known without a lease.
  const callable = new Set<string>([...withApp(toolsOf(toolset)).map(({ name }) => name), ...PROFILE_TOOLS]);
  /** A handle may also be the id of a session, which `browser_open` answers: of one of this user's. */
  async function conversationOf(handle: unknown, userId: string): Promise<unknown> {
    if (typeof handle !== 'string' || !UUID.test(handle)) return handle ?? DEFAULT_HANDLE;
    return (await directory.session(handle, userId))?.conversation_id ?? handle;
  }

  async function leased(userId: string, conversation: unknown, deadlineMs: number, signal: AbortSignal) {
    for (;;) {
      const leftMs = deadlineMs - clock.nowMs();
      const request = getOrCreateRequest.safeParse({
        user_id: userId,
        conversation_id: conversation,
        toolset,
        wait_seconds: Math.max(0, leftMs / 1000),
      });
      if (!request.success)
        throw new OmicronError(
          'invalid_request',
          'sessionId must be a text of 1 to 256 bytes without control characters.',
        );
      try {
        const { mcp_url, mcp_headers } = await getOrCreate.run(request.data);
        if (mcp_url !== null && mcp_headers !== null) return { url: mcp_url, headers: mcp_headers };
        throw new OmicronError('lease_starting', 'The browser is still starting; call again.');
      } catch (error) {
        const waitMs = (error instanceof OmicronError ? (error.retryAfterSeconds ?? Infinity) : Infinity) * 1000;
        const later = error instanceof OmicronError && PROBLEMS[error.code].status === 503;
        if (!later || clock.nowMs() + waitMs > deadlineMs) throw error;
        await clock.sleep(waitMs, signal);
      }
    }
  }

  /** A page in a chat that was opened long ago begins no lease, and keeps none. Undefined: the conversation has none. */
  async function running(userId: string, conversation: unknown) {
    return typeof conversation === 'string' ? (await liveLeases(parts, userId, conversation))[0] : undefined;
  }

  return async (
    call: ToolCallMessage,
    userId: string,
    headers: IncomingHttpHeaders,
    { signal, isCancelled }: { signal: AbortSignal; isCancelled: () => Promise<boolean> },
  ): Promise<GatewayAnswer> => {
    const own = ownAnswers(call.id, isModern(headers));
    const body = JSON.stringify(withoutHandle(call));
    const deadlineMs = clock.nowMs() + LEASE_MS;
    const isOfPage = isAppTool(call.params.name);
    if (!isOfPage && !callable.has(call.params.name)) return own.json(unknownTool(call.params.name));
    try {
      const conversation = await conversationOf(handleOf(call), userId);
      for (let attempt = 0; ; attempt++) {
        const lease = isOfPage
          ? await running(userId, conversation)
          : await leased(userId, conversation, deadlineMs, signal);
        if (lease === undefined) return own.json(leaseEndedResult(null));
        if (await isCancelled()) return own.json(CANCELLED);
        const sent = await callRunner(
          lease.url,
          {
            headers: { ...passedHeaders(headers), ...lease.headers, accept: acceptOf(headers), [NO_LINKS_HEADER]: '1' },
            body,
          },
          signal,
        );
        if (sent.outcome === 'lost') return own.json(INTERRUPTED);
        const answer = sent.outcome === 'answered' ? await parseRunnerAnswer(sent.answer, own) : 'not_begun';
        if (answer !== 'not_begun') return answer;
        if (clock.nowMs() > deadlineMs) return own.json(UNREACHABLE);
        await waitBackoff(attempt, RETRY, signal, clock);
      }
    } catch (error) {
      if (signal.reason instanceof ReplicaStopped) return own.json(INTERRUPTED);
      if (error instanceof OmicronError && !signal.aborted) return own.json(toolFailure(error.code, error.message));
      throw error;
    }
  };
}

const UNREACHABLE = toolFailure(
  'browser_unreachable',
  'The browser cannot be reached; nothing was done.',
  'Try again.',
);

const unknownTool = (name: string) =>
  toolFailure('unknown_tool', `The tool "${name}" is not available.`, 'Call tools/list for the available tools.');

const CANCELLED = toolFailure('call_cancelled', 'The call was cancelled before it began.');

export const passedHeaders = (headers: IncomingHttpHeaders): Record<string, string> => ({
  'content-type': 'application/json',
  ...Object.fromEntries(
    PASSED_HEADERS.flatMap(name => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value]] : [];
    }),
  ),
});

/** The runner of an ended lease says so by a problem document, and the call is tried with the lease of that moment. */
const acceptOf = ({ accept = '*/*' }: IncomingHttpHeaders): string => `${accept}, ${PROBLEM_TYPE}`;

/** An answer of MCP is passed on. A problem document is the runner's word that the call did not get so far. */
async function parseRunnerAnswer(answer: IncomingMessage, own: OwnAnswers): Promise<GatewayAnswer | 'not_begun'> {
  const { statusCode = 0, headers } = answer;
  if (statusCode >= 300 && statusCode < 400) {
    answer.destroy();
    return own.json(UNREACHABLE);
  }
  if (!headers['content-type']?.startsWith(PROBLEM_TYPE)) return passAnswerOn(answer, own);
  const problem = problemSchema.safeParse(
    await readText(answer)
      .then(JSON.parse)
      .catch(() => null),
  ).data;
  if (problem !== undefined && BEFORE_CALL.has(problem.code)) return 'not_begun';
  if (problem === undefined || statusCode >= 500) return own.json(INTERRUPTED);
  return own.json(toolFailure(problem.code, problem.detail));
}
