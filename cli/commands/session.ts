import { type Command, Option } from 'commander';
import type { BrowserSessions, PlaceInLine } from '../../client/browser-sessions.ts';
import { SNAPSHOTS, type Snapshot, TOOLSETS, type Toolset } from '../../contract/assignment.ts';
import { KEEP_FILES, type KeepFiles } from '../../contract/files.ts';
import { HIBERNATE, type Hibernate } from '../../contract/hibernation.ts';
import { KEEP_PAGES, type KeepPages } from '../../contract/page-names.ts';
import { COLOR_SCHEMES, type PageOptions, PERMISSIONS } from '../../contract/page-options.ts';
import type { PolicyPreset } from '../../contract/policy/presets.ts';
import { PROFILE_FORMS, PROFILE_MODES, type ProfileForm } from '../../contract/profile.ts';
import type { SessionEvent, Tags } from '../../contract/session.ts';
import { SESSION_STATES, type SessionState } from '../../contract/states.ts';
import { parseCount, parsePosition, parseSeconds, parseViewport, presetsOption, tagOption } from '../arguments.ts';
import { type Cli, connectController } from '../connect.ts';
import { findSession, type SessionName, sessionName, withSessionName } from '../find-session.ts';
import { userActionCommands } from './user-actions.ts';

/** `session ...`. */
export function sessionCommands(program: Command, cli: Cli): void {
  const session = program.command('session').description('manage sessions');
  const start = session
    .command('start')
    .description('lease the browser of a conversation; the lease ends when it is unused for its time to live')
    .requiredOption('--user <id>', 'user id')
    .requiredOption('--conversation <id>', 'conversation id')
    .option('--ttl <seconds>', 'time to live after the last use (default 600)', parseSeconds)
    .option('--wait <seconds>', 'maximum wait for a browser (default 60)', parseSeconds)
    .addOption(new Option('--toolset <name>', "tools to offer (default: the deployment's)").choices(TOOLSETS))
    .addOption(
      new Option('--snapshot <what>', "what results show of the page (default: the deployment's)").choices(SNAPSHOTS),
    )
    .option('--profile <name>', "the user's profile to start with")
    .addOption(new Option('--profile-mode <mode>', 'whether to save it (default: read-write)').choices(PROFILE_MODES))
    .addOption(new Option('--profile-form <form>', 'what to save of it (default: light)').choices(PROFILE_FORMS))
    .option('--profile-tabs', 'open the tabs that are saved in it, and save those that are open')
    .addOption(
      new Option('--keep-pages <what>', "pages to keep as artifacts (default: the deployment's)").choices(KEEP_PAGES),
    )
    .option(
      '--keep-files <what...>',
      `files to keep after the session: none, all, or names (default: the deployment's)`,
    )
    .addOption(
      new Option(
        '--hibernate <when>',
        "when to keep the session without its browser (default: the deployment's)",
      ).choices(HIBERNATE),
    )
    .addOption(presetsOption("presets of policies for the lease (default: the deployment's)"))
    .option('--no-video', 'do not record videos')
    .addOption(tagOption('tag of the session'))
    .option('--no-credentials', 'give the browser none of the stored credentials')
    .option('--require-credentials', 'fail when the user has no stored credential')
    .option('--show-token', "show the lease's bearer token")
    .action(options => startSession(cli, options));
  withPageOptions(start);
  session
    .command('list')
    .description('list sessions, newest first')
    .option('--user <id>', 'user id')
    .option('--conversation <id>', 'conversation id')
    .addOption(new Option('--status <state>', 'session state').choices(SESSION_STATES))
    .addOption(tagOption('tag that must match'))
    .option('--archived', 'include archived sessions')
    .option('--limit <count>', 'maximum number of results (default 50)', parseCount)
    .option('--cursor <cursor>', 'next_cursor of the previous page')
    .action(options => listSessions(cli, options));
  withSessionName(session.command('show').description('show a session and its recordings'))
    .option('--events', 'include its timeline')
    .option('--code <code>', 'only events with this code, e.g. policy_blocked (implies --events)')
    .action((id, options) => showSession(cli, sessionName(id, options), options));
  withSessionName(session.command('close').description('end the lease of a session')).action((id, options) =>
    endSession(cli, sessionName(id, options), 'end'),
  );
  withSessionName(session.command('archive').description('end the lease of a session and take it off the list')).action(
    (id, options) => endSession(cli, sessionName(id, options), 'archive'),
  );
  userActionCommands(session, cli);
}

/** Options that pages see. */
const withPageOptions = (command: Command): Command =>
  command
    .option('--viewport <size>', 'size of pages in CSS pixels (default 1920x1080)', parseViewport)
    .option('--locale <tag>', 'language of pages, e.g. de-CH (default en-US)')
    .option('--timezone <name>', "time zone, e.g. Europe/Zurich (default: the runner's)")
    .addOption(new Option('--color-scheme <scheme>', 'colour scheme (default light)').choices(COLOR_SCHEMES))
    .option('--geolocation <position>', 'latitude,longitude or latitude,longitude,metres', parsePosition)
    .option('--user-agent-suffix <token>', "text after the browser's user agent, e.g. ExampleAgent/1.0")
    .addOption(
      new Option('--permissions <names...>', 'permissions of every site; all others are denied').choices(PERMISSIONS),
    );

interface StartOptions {
  user: string;
  conversation: string;
  ttl?: number;
  wait?: number;
  toolset?: Toolset;
  snapshot?: Snapshot;
  keepPages?: KeepPages;
  keepFiles?: string[];
  hibernate?: Hibernate;
  policyPresets?: readonly PolicyPreset[];
  profile?: string;
  profileMode?: (typeof PROFILE_MODES)[number];
  profileForm?: ProfileForm;
  profileTabs?: boolean;
  video: boolean;
  tag?: Tags;
  credentials: boolean;
  requireCredentials?: boolean;
  showToken?: boolean;
  viewport?: PageOptions['viewport'];
  locale?: string;
  timezone?: string;
  colorScheme?: PageOptions['color_scheme'];
  geolocation?: PageOptions['geolocation'];
  userAgentSuffix?: string;
  permissions?: PageOptions['permissions'];
}

/** One word alone is a choice, anything else names files. */
function keptFiles(given: string[]): KeepFiles {
  const choice = KEEP_FILES.find(each => each === given[0]);
  return choice !== undefined && given.length === 1 ? choice : given;
}

const describePlace = ({ position, expectedWaitSeconds }: PlaceInLine): string => {
  const wait = expectedWaitSeconds === undefined ? '' : `, expected wait ${expectedWaitSeconds} s`;
  return `Every browser is in use: position ${position} in the line${wait}.`;
};

/** Leases a browser and leaves it to its time to live. The token is hidden unless asked for. */
async function startSession(cli: Cli, options: StartOptions): Promise<void> {
  const sessions = await connectController(cli);
  const lease = await sessions.acquire({
    userId: options.user,
    conversationId: options.conversation,
    ttlSeconds: options.ttl,
    waitSeconds: options.wait,
    toolset: options.toolset,
    snapshot: options.snapshot,
    keepPages: options.keepPages,
    keepFiles: options.keepFiles && keptFiles(options.keepFiles),
    hibernate: options.hibernate,
    policyPresets: options.policyPresets?.slice(),
    profile: options.profile,
    profileMode: options.profileMode,
    profileForm: options.profileForm,
    profileTabs: options.profileTabs,
    recordVideo: options.video,
    tags: options.tag,
    credentials: options.credentials,
    requireCredentials: options.requireCredentials,
    viewport: options.viewport,
    locale: options.locale,
    timezone: options.timezone,
    colorScheme: options.colorScheme,
    geolocation: options.geolocation,
    userAgentSuffix: options.userAgentSuffix,
    permissions: options.permissions,
    signal: cli.signal,
    onWaiting: place => cli.progress(describePlace(place)),
  });
  const { sessionId, epoch, mcpUrl, headers, expiresAt, endsAt } = lease;
  const hidden = Object.fromEntries(Object.keys(headers).map(name => [name, '(hidden; --show-token shows it)']));
  cli.out.fields({
    session_id: sessionId,
    epoch,
    mcp_url: mcpUrl,
    mcp_headers: options.showToken ? headers : hidden,
    expires_at: expiresAt.toISOString(),
    ends_at: endsAt.toISOString(),
  });
}

interface ListOptions {
  user?: string;
  conversation?: string;
  status?: SessionState;
  tag?: Tags;
  archived?: boolean;
  limit?: number;
  cursor?: string;
}

async function listSessions(cli: Cli, { user, conversation, tag, ...rest }: ListOptions): Promise<void> {
  const sessions = await connectController(cli);
  const page = await sessions.list({ ...rest, userId: user, conversationId: conversation, tags: tag });
  cli.out.rows(
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

async function showSession(
  cli: Cli,
  name: SessionName,
  { events, code }: { events?: boolean; code?: string },
): Promise<void> {
  const sessions = await connectController(cli);
  const session = await findSession(sessions, name);
  const artifacts = await sessions.listArtifacts(session.session_id);
  if (!events && code === undefined) return cli.out.fields({ ...session, artifacts });
  const timeline = await allEvents(sessions, session.session_id, code);
  cli.out.rows(
    { ...session, artifacts, events: timeline },
    ['AT', 'EPOCH', 'KIND', 'DATA'],
    timeline.map(event => [event.at, event.epoch, event.kind, JSON.stringify(event.data)]),
  );
}

async function endSession(cli: Cli, name: SessionName, how: 'end' | 'archive'): Promise<void> {
  const sessions = await connectController(cli);
  const { session_id } = await findSession(sessions, name);
  cli.out.fields(await sessions[how](session_id));
}

async function allEvents(
  sessions: BrowserSessions,
  sessionId: string,
  code: string | undefined,
): Promise<SessionEvent[]> {
  const all: SessionEvent[] = [];
  for (let cursor: string | undefined; ; ) {
    const { events, next_cursor } = await sessions.listEvents(sessionId, { limit: 200, cursor, code });
    all.push(...events);
    if (next_cursor === null) return all;
    cursor = next_cursor;
  }
}
