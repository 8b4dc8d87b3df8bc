import { baseOfChange, git } from './base.ts';
import { faultsOfSubject } from './commit-subject.ts';

// For .ci/run: fails where a commit of this submission has a subject that is no imperative of at most 72 characters. Commits older than
// this file are not read. Without a base to compare with, the last commit alone is.

const base = baseOfChange();
const since = git('log', '--diff-filter=A', '--format=%H', '-1', '--', 'test/ci/check-commits.ts').trim();
const range = base === undefined ? ['-1'] : [`${base}..HEAD`, ...(since === '' ? [] : [`^${since}^`])];
const commits = git('log', '--no-merges', '--format=%h %s', ...range)
  .trim()
  .split('\n')
  .filter(line => line !== '');
let faults = 0;
for (const line of commits) {
  const [, commit = '', subject = ''] = /^(\S+) (.*)$/.exec(line) ?? [];
  for (const fault of faultsOfSubject(subject)) {
    faults += 1;
    process.stderr.write(`${commit} "${subject}" ${fault}\n`);
  }
}
process.stderr.write(`${commits.length} commit subjects read${base ? ` since ${base}` : ''}, ${faults} faults\n`);
process.exitCode = faults === 0 ? 0 : 1;
