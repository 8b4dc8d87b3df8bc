import type { BrowserSessions, ListRequest } from '../../client/browser-sessions.ts';
import type { Session, SessionEvent, Tags } from '../../contract/session.ts';
import { SESSION_STATES, type SessionState } from '../../contract/states.ts';
import { UsageError } from './exit.ts';
import { findSession, type SessionName } from './find-session.ts';
import type { Output } from './output.ts';

export interface StartOptions {
  user: string;
  conversation: string;
  ttl?: number;
  wait?: number;
  video: boolean;
  tag: string[];
  requireCredentials?: boolean;
  showToken?: boolean;
}

/** `session start`: leases a browser and leaves it to its time to live. The token is not shown unless asked for. */
export async function startSession(
  sessions: BrowserSessions,
  out: Output,
  options: StartOptions,
  signal: AbortSignal,
): Promise<void> {
  const lease = await sessions.acquire({
    userId: options.user,
    conversationId: options.conversation,
    recordVideo: options.video,
    tags: tagsOf(options.tag),
    requireCredentials: options.requireCredentials ?? false,
    signal,
    ...(options.ttl === undefined ? {} : { ttlSeconds: options.ttl }),
    ...(options.wait === undefined ? {} : { waitSeconds: options.wait }),
  });
  const shown = options.showToken
    ? lease.headers
    : Object.fromEntries(Object.keys(lease.headers).map(name => [name, '(hidden; --show-token shows it)']));
  out.fields({
    session_id: lease.sessionId,
    epoch: lease.epoch,
    mcp_url: lease.mcpUrl,
    mcp_headers: shown,
    expires_at: lease.expiresAt.toISOString(),
    ends_at: lease.endsAt.toISOString(),
  });
}

export interface ListOptions {
  user?: string;
  conversation?: string;
  status?: string;
  tag: string[];
  archived?: boolean;
  limit?: number;
  cursor?: string;
}

/** `session list`: one page, newest first. */
export async function listSessions(sessions: BrowserSessions, out: Output, options: ListOptions): Promise<void> {
  const { user, conversation, status, tag, ...rest } = options;
  const request: ListRequest = {
    ...rest,
    tags: tagsOf(tag),
    ...(user === undefined ? {} : { userId: user }),
    ...(conversation === undefined ? {} : { conversationId: conversation }),
    ...(status === undefined ? {} : { status: stateOf(status) }),
  };
  const page = await sessions.list(request);
  out.rows(
    page,
    ['SESSION', 'USER', 'CONVERSATION', 'STATUS', 'EPOCH', 'EXPIRES', 'REASON'],
    page.sessions.map(session => [
      session.session_id,
      session.user_id,
      session.conversation_id,
      session.status,
      session.epoch,
      session.expires_at,
      session.error ?? session.ended_reason,
    ]),
  );
}

/** `session show`: the session and its recordings; with `events` its timeline. */
export async function showSession(
  sessions: BrowserSessions,
  out: Output,
  name: SessionName,
  { events }: { events?: boolean },
): Promise<void> {
  const session = await findSession(sessions, name);
  const artifacts = await sessions.listArtifacts(session.session_id);
  if (!events) {
    out.fields({ ...session, artifacts });
    return;
  }
  const timeline = await allEvents(sessions, session);
  out.rows(
    { ...session, artifacts, events: timeline },
    ['AT', 'EPOCH', 'KIND', 'DATA'],
    timeline.map(event => [event.at, event.epoch, event.kind, JSON.stringify(event.data)]),
  );
}

/** `session close`: ends the lease. */
export async function closeSession(sessions: BrowserSessions, out: Output, name: SessionName): Promise<void> {
  const { session_id } = await findSession(sessions, name);
  out.fields(await sessions.end(session_id));
}

/** `session archive`: ends the lease and takes the session off the list. */
export async function archiveSession(sessions: BrowserSessions, out: Output, name: SessionName): Promise<void> {
  const { session_id } = await findSession(sessions, name);
  out.fields(await sessions.archive(session_id));
}

async function allEvents(sessions: BrowserSessions, { session_id }: Session): Promise<SessionEvent[]> {
  const all: SessionEvent[] = [];
  for (let cursor: string | undefined; ; ) {
    const { events, next_cursor } = await sessions.listEvents(session_id, { limit: 200, cursor });
    all.push(...events);
    if (next_cursor === null) return all;
    cursor = next_cursor;
  }
}

const tagsOf = (pairs: string[]): Tags =>
  Object.fromEntries(
    pairs.map(pair => {
      const [, key, value] = /^([^=]+)=(.+)$/.exec(pair) ?? [];
      if (key === undefined || value === undefined) throw new UsageError(`a tag is key=value, not "${pair}".`);
      return [key, value];
    }),
  );

function stateOf(text: string): SessionState {
  const state = SESSION_STATES.find(each => each === text);
  if (state) return state;
  throw new UsageError(`--status takes ${SESSION_STATES.join(', ')}, not "${text}".`);
}
