import { createHash } from 'node:crypto';
import { relative } from 'node:path';
import { beforeAll, beforeEach } from 'vitest';

/**
 * A search tries many cases, listed or random. A run may try a slice of them, `OMICRON_SEARCH_SLICE=2/6` for the second sixth; the random
 * ones follow from `OMICRON_SEARCH_SEED`. Both are printed, and a failure prints the command that tries the same cases again.
 */
export interface Search {
  /** Random cases of this run follow from it. Slices of one run have seeds of their own. */
  readonly seed: number;
  /** Part of a list that this slice tries, by position: the slices are disjoint, and together they are the list. */
  sliceOf<T>(list: readonly T[]): T[];
  /** Number of random cases of this slice. `OMICRON_SEARCH_CASES` names another number for all slices together. */
  countOf(usual: number): number;
}

interface Slice {
  /** From 1 to `slices`. */
  readonly slice: number;
  readonly slices: number;
}

export interface SearchSettings extends Slice {
  readonly seed: number;
  readonly cases: number | undefined;
}

/** Seeds of slices lie so far apart that cases with consecutive seeds do not meet. */
const SEEDS_APART = 1_000_003;
const SEEDS = 2 ** 31;

/** For the top of a test file: registers hooks that print seed and slice, and after a failure how to repeat it. */
export function openSearch(): Search {
  const settings = searchSettings(process.env);
  beforeAll(() => console.info(variablesOf(settings).join(' ')));
  beforeEach(({ task, onTestFailed }) => {
    onTestFailed(() => {
      const file = relative(process.cwd(), task.file.filepath);
      const title = task.fullTestName.slice(task.file.fullTestName?.length ?? 0);
      console.error(`Repeat it with: ${repeatCommand(settings, file, title)}`);
    });
  });
  return searchOf(settings);
}

/** Numbers from 0 to 1, the same for the same seed: <https://github.com/cprosche/mulberry32>. */
export function randomOf(seed: number): () => number {
  let a = seed;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function searchOf({ seed, slice, slices, cases }: SearchSettings): Search {
  const sliceOf = <T>(list: readonly T[]) => list.filter((_, place) => place % slices === slice - 1);
  return {
    seed: (seed + (slice - 1) * SEEDS_APART) % SEEDS,
    sliceOf,
    countOf: usual => sliceOf(Array.from({ length: cases ?? usual })).length,
  };
}

/** Reads the settings of all searches. Without a seed one is drawn. */
export function searchSettings(environment: NodeJS.ProcessEnv): SearchSettings {
  const { OMICRON_SEARCH_SEED: seed, OMICRON_SEARCH_CASES: cases, OMICRON_SEARCH_SLICE: slice } = environment;
  return {
    seed: seed === undefined ? Math.floor(Math.random() * SEEDS) : seedOf(seed),
    cases: cases === undefined ? undefined : wholeNumber(cases),
    ...parseSlice(slice ?? '1/1'),
  };
}

/** Any word is a seed, such as the hash of a commit; a number, as it is printed, stands for itself. */
const seedOf = (word: string): number =>
  (/^\d{1,10}$/.test(word) ? Number(word) : createHash('sha256').update(word).digest().readUInt32BE()) % SEEDS;

function wholeNumber(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new Error(`OMICRON_SEARCH_CASES must be a whole number, and is ${value}`);
  return Number(value);
}

function parseSlice(value: string): Slice {
  const [, slice = 0, slices = 0] = (/^(\d+)\/(\d+)$/.exec(value) ?? []).map(Number);
  if (slice < 1 || slice > slices) throw new Error(`OMICRON_SEARCH_SLICE must be 1/N to N/N, and is ${value}`);
  return { slice, slices };
}

function variablesOf({ seed, slice, slices, cases }: SearchSettings): string[] {
  const more = cases === undefined ? [] : [`OMICRON_SEARCH_CASES=${cases}`];
  return [`OMICRON_SEARCH_SEED=${seed}`, `OMICRON_SEARCH_SLICE=${slice}/${slices}`, ...more];
}

/** A command for a shell. `-t` takes a regular expression that matches a part of the title. */
export function repeatCommand(settings: SearchSettings, file: string, title: string): string {
  const pattern = title.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const quoted = `'${pattern.replaceAll("'", `'\\''`)}'`;
  const command = file.startsWith('test/cluster/') ? 'npm run test:cluster --' : 'npm test -- --project search';
  return `${variablesOf(settings).join(' ')} ${command} ${file} -t ${quoted}`;
}
