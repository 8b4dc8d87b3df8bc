import type { Command } from 'commander';
import type { Tags } from '../../contract/session.ts';
import { parseCount, tagOption } from '../arguments.ts';
import { type Cli, connectController } from '../connect.ts';

/** `usage`: B7. */
export function usageCommand(program: Command, cli: Cli): void {
  program
    .command('usage')
    .description('show what users used: leases, their seconds, bytes of artifacts')
    .option('--by <what>', 'user, or tag:NAME for the values of a tag (default: user)')
    .option('--user <id>', 'user id')
    .addOption(tagOption('tag that must match'))
    .option('--since <time>', 'begin of the period, e.g. 2026-11-01T00:00:00Z (default: 30 days before its end)')
    .option('--until <time>', 'end of the period (default: now)')
    .option('--limit <count>', 'maximum number of results (default 50)', parseCount)
    .action(options => showUsage(cli, options));
}

interface UsageOptions {
  by?: string;
  user?: string;
  tag?: Tags;
  since?: string;
  until?: string;
  limit?: number;
}

async function showUsage(cli: Cli, { user, tag, ...rest }: UsageOptions): Promise<void> {
  const sessions = await connectController(cli);
  const report = await sessions.getUsage({ ...rest, userId: user, tags: tag });
  cli.out.rows(
    report,
    ['NAME', 'SESSIONS', 'LEASES', 'LEASE SECONDS', 'ARTIFACTS', 'ARTIFACT BYTES'],
    [...report.usage, { name: '(total)', ...report.total }].map(each => [
      each.name,
      each.sessions,
      each.leases,
      each.lease_seconds,
      each.artifacts,
      each.artifact_bytes,
    ]),
  );
}
