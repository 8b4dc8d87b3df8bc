import { type Command, InvalidArgumentError } from 'commander';
import { openAuditSource } from '../audit/source.ts';
import { type AuditHead, verifyAudit } from '../audit/verify.ts';
import type { Cli } from '../connect.ts';
import { EXIT } from '../exit.ts';

/** `audit verify`: B10. Asks no controller. */
export function auditCommands(program: Command, cli: Cli): void {
  const group = program.command('audit').description('check the files that the audit is exported to');
  group
    .command('verify')
    .description('find files that are missing, changed or out of order')
    .argument('<from>', 'folder of the files, or s3://<bucket>/audit/<environment>/')
    .option('--first <sequence>', 'number of the first file that must be there (default 1)', parseSequence)
    .option('--head <sequence:sha256>', 'last file, as the log of the controller has it', parseHead)
    .action((from: string, options: VerifyOptions) => verify(cli, from, options));
}

interface VerifyOptions {
  first?: number;
  head?: AuditHead;
}

function parseSequence(text: string): number {
  if (!/^[1-9]\d{0,11}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1.');
  return Number(text);
}

function parseHead(text: string): AuditHead {
  const [, sequence, sha256] = /^([1-9]\d{0,11}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (sequence === undefined || sha256 === undefined)
    throw new InvalidArgumentError('It must be a number, a colon and 64 hexadecimal digits.');
  return { sequence: Number(sequence), sha256 };
}

async function verify(cli: Cli, from: string, { first = 1, head }: VerifyOptions): Promise<void> {
  const source = await openAuditSource(from, cli.environment);
  const report = await verifyAudit(source, { first, head });
  for (const { file, problem, detail } of report.problems) cli.progress(`${file}: ${problem}: ${detail}`);
  if (report.files === 0) cli.progress(`${from}: there is no audit file from ${first} on`);
  cli.out.fields({ ...report, intact: report.problems.length === 0 && report.files > 0 });
  if (report.problems.length > 0 || report.files === 0) cli.exitCode = EXIT.failed;
}
