import { type Command, Option } from 'commander';
import { EVENT_KINDS, type EventKind } from '../../contract/event-kinds.ts';
import type { Webhook } from '../../contract/webhook.ts';
import { parseCount } from '../arguments.ts';
import { type Cli, connectController } from '../connect.ts';
import { EXIT } from '../exit.ts';

/** `webhook ...`: B5. */
export function webhookCommands(program: Command, cli: Cli): void {
  const group = program.command('webhook').description('manage webhooks: endpoints that events are sent to');
  const ofWebhook = (name: string, description: string) =>
    group.command(name).description(description).argument('<id>', 'webhook id');
  const webhooks = async () => (await connectController(cli)).webhooks;

  group
    .command('add')
    .description('add an endpoint for events from now on, and show its secret, once')
    .argument('<url>', 'https address of the endpoint')
    .addOption(new Option('--kind <kind...>', 'only events of these kinds').choices(Object.keys(EVENT_KINDS)))
    .option('--user <id>', "only events of this user's sessions")
    .option('--description <text>', 'text for people')
    .action(async (url: string, { kind, user, description }: AddOptions) =>
      cli.out.fields(await (await webhooks()).add({ url, kinds: kind, userId: user, description })),
    );
  group
    .command('list')
    .description('list webhooks, and how far each has come')
    .action(async () => listWebhooks(cli, await (await webhooks()).list()));
  ofWebhook('test', 'send one event now, and show how the endpoint took it').action(async id => {
    const outcome = await (await webhooks()).test(id);
    cli.out.fields(outcome);
    if (!outcome.delivered) cli.exitCode = EXIT.failed;
  });
  ofWebhook('pause', 'stop deliveries; events wait').action(async id =>
    cli.out.fields(await (await webhooks()).pause(id)),
  );
  ofWebhook('resume', 'go on with the event at which it was paused').action(async id =>
    cli.out.fields(await (await webhooks()).resume(id)),
  );
  ofWebhook('rotate', 'make a new secret; for a day both sign').action(async id =>
    cli.out.fields({ id, ...(await (await webhooks()).rotateSecret(id)) }),
  );
  ofWebhook('delete', 'delete a webhook').action(async id => {
    await (await webhooks()).delete(id);
    cli.out.fields({ id, deleted: true });
  });
  ofWebhook('failed', 'list events that were not delivered within a day, newest first')
    .option('--limit <count>', 'maximum number of results (default 50)', parseCount)
    .option('--cursor <cursor>', 'next_cursor of the page before')
    .action(async (id, page) => {
      const answer = await (await webhooks()).listFailures(id, page);
      cli.out.rows(
        answer,
        ['EVENT', 'AT', 'KIND', 'SESSION', 'ATTEMPTS', 'ERROR'],
        answer.failures.map(each => [
          ...[each.id, each.at, each.kind, each.session_id, each.attempts],
          each.replaying ? `${each.error} (replaying)` : each.error,
        ]),
      );
    });
  ofWebhook('replay', 'send undelivered events again, each once: all of them, or those that are named')
    .argument('[events...]', 'event ids, as failed lists them')
    .action(async (id: string, events: string[]) => {
      const replayed = await (await webhooks()).replay(id, events.length === 0 ? undefined : events);
      cli.out.fields({ id, replayed });
    });
}

interface AddOptions {
  kind?: EventKind[];
  user?: string;
  description?: string;
}

function listWebhooks(cli: Cli, webhooks: readonly Webhook[]): void {
  cli.out.rows(
    { webhooks },
    ['ID', 'URL', 'STATE', 'DELIVERED', 'WAITING', 'FAILED', 'LAST ERROR'],
    webhooks.map(each => [
      ...[each.id, each.url, each.paused_at === null ? 'active' : 'paused', each.delivered_at],
      ...[each.waiting_sessions, each.failed, each.last_error],
    ]),
  );
}
