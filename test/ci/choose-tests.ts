import { matchesGlob } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONTROL_PLANE, UNIT } from '../setup/projects.ts';
import { baseOfChange, git } from './base.ts';
import { type ImportRules, isReached, testFiles, testReach } from './reach.ts';

// For .ci/run: prints the arguments of the run after `npm test`, a line each. Tests with browsers that the change since OMICRON_CI_BASE
// (else since the remote's main) cannot reach are excluded, and named on standard error. Without such a base, all run.

/** Cheap, or run by another command: never skipped here. */
const isOther = (file: string) => [...UNIT, CONTROL_PLANE, 'test/cluster/**'].some(glob => matchesGlob(file, glob));

const { rooms } = (await import('../../.dependency-cruiser.js' as string)) as { rooms: ImportRules };
process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
const base = baseOfChange();
const changed = base === undefined ? undefined : git('diff', '--name-only', base, 'HEAD').trim().split('\n');
const skipped =
  changed === undefined
    ? []
    : testFiles('test').filter(file => !isOther(file) && !isReached(testReach(file, rooms), changed));
process.stderr.write(
  changed === undefined
    ? 'No base to compare with: all tests run.\n'
    : `${changed.length} files changed since ${base}; ${skipped.length} test files cannot be reached by them and are skipped:\n`,
);
for (const file of skipped) process.stderr.write(`  ${file}\n`);
process.stdout.write(
  ['--project=integration', '--project=search', ...skipped.map(file => `--exclude=${file}`)].join('\n'),
);
