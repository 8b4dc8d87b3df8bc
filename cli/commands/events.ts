import { type Command, Option } from 'commander';
import { EVENT_KINDS, type EventKind } from '../../contract/event-kinds.ts';
import { type Cli, connectController } from '../connect.ts';

/** `events --follow`: B5. */
export function eventsCommand(program: Command, cli: Cli): void {
  program
    .command('events')
    .description('follow the events of all sessions: a line of JSON for each, in order, each once')
    .requiredOption('--follow', 'print events as they come, until Ctrl-C')
    .option('--user <id>', 'user id')
    .option('--session <id>', 'session id')
    .addOption(
      new Option('--kind <kind...>', 'only events of these kinds, e.g. tool.call').choices(Object.keys(EVENT_KINDS)),
    )
    .option(
      '--after <id>',
      'resume after the event with this id; start: all events that are kept (default: from now on)',
    )
    .action(options => followEvents(cli, options));
}

interface EventsOptions {
  user?: string;
  session?: string;
  kind?: EventKind[];
  after?: string;
}

async function followEvents(cli: Cli, { user, session, kind, after }: EventsOptions): Promise<void> {
  const sessions = await connectController(cli);
  const wanted = { userId: user, sessionId: session, kinds: kind, after, signal: cli.signal };
  for await (const event of sessions.followEvents(wanted)) cli.out.line(event);
}
