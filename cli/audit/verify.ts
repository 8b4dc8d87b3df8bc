import { createHash } from 'node:crypto';
import { auditHeader, NO_DIGEST, readAuditName } from '../../contract/audit.ts';
import { tryParseJson } from '../../contract/parse-json.ts';

/** Audit files of one environment, wherever they are. */
export interface AuditSource {
  /** Names of all files there, without a folder. */
  names(): Promise<readonly string[]>;
  read(name: string): Promise<Buffer>;
}

/** The last file, as another place than the bucket knows it: the controller's log. */
export interface AuditHead {
  readonly sequence: number;
  readonly sha256: string;
}

export interface AuditProblem {
  /** Name of the file, or the number of one that is missing. */
  readonly file: string;
  readonly problem: 'missing' | 'changed' | 'out of order' | 'twice' | 'not an audit file';
  readonly detail: string;
}

export interface AuditReport {
  readonly files: number;
  readonly entries: number;
  readonly first: number | null;
  readonly last: number | null;
  readonly last_sha256: string | null;
  readonly problems: readonly AuditProblem[];
}

/** Missing files that follow each other are one problem. */
const range = (from: number, to: number): string => (from === to ? `file ${from}` : `files ${from} to ${to}`);

/** Reads every file, and says which are missing, changed or out of order. */
export async function verifyAudit(
  source: AuditSource,
  { first, head }: { first: number; head?: AuditHead | undefined },
): Promise<AuditReport> {
  const problems: AuditProblem[] = [];
  const report = (file: string, problem: AuditProblem['problem'], detail: string) =>
    problems.push({ file, problem, detail });
  const named: { name: string; sequence: number; sha256: string }[] = [];
  for (const name of await source.names()) {
    const parts = readAuditName(name);
    if (parts === undefined) report(name, 'not an audit file', 'its name is not <12 digits>-<SHA-256>.jsonl');
    else if (parts.sequence >= first) named.push({ name, ...parts });
  }
  named.sort((a, b) => a.sequence - b.sequence || (a.name < b.name ? -1 : 1));

  let entries = 0;
  let before: { sequence: number; sha256: string } = { sequence: first - 1, sha256: first === 1 ? NO_DIGEST : '' };
  for (const { name, sequence, sha256 } of named) {
    if (sequence > before.sequence + 1) {
      report(
        range(before.sequence + 1, sequence - 1),
        'missing',
        `${name} comes after ${range(before.sequence, before.sequence)}`,
      );
      before = { sequence: sequence - 1, sha256: '' };
    }
    if (sequence === before.sequence) {
      report(name, 'twice', `another file has the number ${sequence}: the chain was continued from an older state`);
      continue;
    }
    const read = readFile(await source.read(name));
    entries += read.entries;
    if (read.sha256 !== sha256) report(name, 'changed', `its content has the SHA-256 ${read.sha256}`);
    else if (read.fault !== undefined) report(name, 'changed', read.fault);
    else if (read.sequence !== sequence)
      report(name, 'out of order', `its first line has the sequence ${read.sequence}`);
    else if (before.sha256 !== '' && read.previous !== before.sha256)
      report(
        name,
        'out of order',
        `it follows a file with the SHA-256 ${read.previous}, and the one before it has ${before.sha256}`,
      );
    // what the next file must name, by the name that the chain gave this one
    before = { sequence, sha256 };
  }
  const last = named.at(-1);
  problems.push(...faultsOfEnd(before, head));
  return {
    files: named.length,
    entries,
    first: named[0]?.sequence ?? null,
    last: last?.sequence ?? null,
    last_sha256: last?.sha256 ?? null,
    problems,
  };
}

function faultsOfEnd(last: { sequence: number; sha256: string }, head: AuditHead | undefined): AuditProblem[] {
  if (head === undefined) return [];
  if (last.sequence < head.sequence)
    return [
      {
        file: range(last.sequence + 1, head.sequence),
        problem: 'missing',
        detail: `the last file is ${last.sequence}, and ${head.sequence} was written`,
      },
    ];
  if (last.sequence === head.sequence && last.sha256 !== head.sha256)
    return [{ file: range(last.sequence, last.sequence), problem: 'changed', detail: `${head.sha256} was written` }];
  return [];
}

interface ReadFile {
  readonly sha256: string;
  readonly entries: number;
  readonly sequence?: number;
  readonly previous?: string;
  readonly fault?: string;
}

function readFile(bytes: Buffer): ReadFile {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const [first = '', ...lines] = bytes.toString('utf8').split('\n');
  const entries = lines.filter(line => line !== '').length;
  const header = auditHeader.safeParse(tryParseJson(first));
  if (!header.success) return { sha256, entries, fault: 'its first line is no header of an audit file' };
  if (header.data.entries !== entries)
    return { sha256, entries, fault: `it has ${entries} entries, and its first line says ${header.data.entries}` };
  return { sha256, entries, sequence: header.data.sequence, previous: header.data.previous };
}
