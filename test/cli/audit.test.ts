import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { auditKey, auditPrefix, NO_DIGEST } from '../../contract/audit.ts';
import { runHere } from './run-here.ts';

let folder: string;
let digests: string[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'omicron-audit-'));
  digests = [NO_DIGEST];
  for (let sequence = 1; sequence <= 5; sequence += 1) await add(sequence, bodyOf(sequence, digests.at(-1) ?? ''));
});
afterEach(() => rm(folder, { recursive: true }));

const bodyOf = (sequence: number, previous: string, action = 'putCredential') =>
  `${JSON.stringify({ audit: 1, environment: 'prod', sequence, previous, entries: 2 })}\n${`{"action":"${action}"}\n`.repeat(2)}`;

async function add(sequence: number, body: string): Promise<void> {
  const sha256 = createHash('sha256').update(body).digest('hex');
  digests.push(sha256);
  await writeFile(join(folder, auditKey('prod', sequence, sha256).slice(auditPrefix('prod').length)), body);
}
const nameOf = async (sequence: number): Promise<string> =>
  (await readdir(folder)).find(name => Number(name.slice(0, 12)) === sequence) ?? '';
const verify = (...more: string[]) => runHere(['audit', 'verify', folder, ...more], { environment: {} });
const problemsOf = ({ stdout }: { stdout: string }) =>
  JSON.parse(stdout).problems.map(({ file, problem }: Record<string, string>) => [file, problem]);
const head = (sequence = 5) => ['--head', `${sequence}:${digests[sequence]}`];

it('finds nothing in a chain that is whole', async () => {
  const { code, stdout, stderr } = await verify(...head());
  expect([code, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toEqual({
    ...{ files: 5, entries: 10, first: 1, last: 5, last_sha256: digests[5], problems: [], intact: true },
  });
});

describe('exit code 1, and the file, for', () => {
  const fails = async (problems: string[][], ...more: string[]) => {
    const told = await verify(...more);
    expect(problemsOf(told)).toEqual(problems);
    expect(told.code).toBe(1);
    for (const [file, problem] of problems) expect(told.stderr).toContain(`${file}: ${problem}: `);
  };

  it('files that are missing: one, several, the first', async () => {
    await rm(join(folder, await nameOf(2)));
    await fails([['file 2', 'missing']]);
    await rm(join(folder, await nameOf(3)));
    await fails([['files 2 to 3', 'missing']]);
    await rm(join(folder, await nameOf(1)));
    await fails([['files 1 to 3', 'missing']]);
  });

  it('the last files, which the log knows', async () => {
    await rm(join(folder, await nameOf(5)));
    await fails([['file 5', 'missing']], ...head());
    await rm(join(folder, await nameOf(4)));
    await fails([['files 4 to 5', 'missing']], ...head());
  });

  it('a byte that is changed, and an entry that is cut off', async () => {
    const name = await nameOf(3);
    const whole = await readFile(join(folder, name), 'utf8');
    await writeFile(join(folder, name), whole.replace('putCredential', 'putcredential'));
    await fails([[name, 'changed']]);
    await writeFile(join(folder, name), whole.slice(0, whole.lastIndexOf('{')));
    await fails([[name, 'changed']]);
    await writeFile(join(folder, name), '');
    await fails([[name, 'changed']]);
  });

  it('a file that was changed and renamed: the next one names what it was', async () => {
    await rm(join(folder, await nameOf(3)));
    await add(3, bodyOf(3, digests[2] ?? '', 'nothing'));
    await fails([[await nameOf(4), 'out of order']]);
  });

  it('the last file, changed and renamed, by the log', async () => {
    const first = head();
    await rm(join(folder, await nameOf(5)));
    await add(5, bodyOf(5, digests[4] ?? '', 'nothing'));
    await fails([['file 5', 'changed']], ...first);
  });

  it('files whose names were exchanged', async () => {
    const [two, three] = [await nameOf(2), await nameOf(3)];
    await rename(join(folder, two), join(folder, `000000000009-${two.slice(13)}`));
    await rename(join(folder, three), join(folder, `000000000002-${three.slice(13)}`));
    await rename(join(folder, `000000000009-${two.slice(13)}`), join(folder, `000000000003-${two.slice(13)}`));
    const told = await verify();
    expect(told.code).toBe(1);
    expect(problemsOf(told)).toContainEqual([`000000000002-${three.slice(13)}`, 'out of order']);
  });

  it('two files of one number, as after a restore of the database', async () => {
    await add(5, bodyOf(5, digests[4] ?? '', 'other'));
    const told = await verify();
    expect([told.code, problemsOf(told)]).toEqual([1, [[expect.stringMatching(/^000000000005-/), 'twice']]]);
  });

  it('another file among them, and a folder without any', async () => {
    await writeFile(join(folder, 'notes.txt'), 'a');
    await fails([['notes.txt', 'not an audit file']]);
    const empty = await mkdtemp(join(tmpdir(), 'omicron-audit-'));
    const told = await runHere(['audit', 'verify', empty], { environment: {} });
    expect([told.code, told.stderr]).toEqual([1, `${empty}: there is no audit file from 1 on\n`]);
    await rm(empty, { recursive: true });
  });
});

it('begins later where older files have expired', async () => {
  for (const sequence of [1, 2]) await rm(join(folder, await nameOf(sequence)));
  expect((await verify()).code).toBe(1);
  expect((await verify('--first', '3', ...head())).code).toBe(0);
});

it.each([
  [['/no/such/folder'], '/no/such/folder is no folder'],
  [['https://example.com/a'], 'https://example.com/a names no audit files'],
  [['s3://bucket'], 's3://bucket names no audit files'],
  [['s3://bucket/audit/prod/'], 'AWS_REGION is not set'],
  [['.', '--head', '5:abc'], 'It must be a number, a colon and 64 hexadecimal digits.'],
  [['.', '--first', '0'], 'It must be a whole number from 1.'],
])('refuses %j before it reads', async (args, message) => {
  const told = await runHere(['audit', 'verify', ...args], { environment: {} });
  expect(told.code).toBe(2);
  expect(told.stderr).toContain(message);
});
