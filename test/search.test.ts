import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { repeatCommand, searchOf, searchSettings } from './search.ts';

const LIST = Array.from({ length: 20 }, (_, place) => `case ${place}`);
const sliced = (slice: string, more: NodeJS.ProcessEnv = {}) =>
  searchOf(searchSettings({ OMICRON_SEARCH_SEED: '7', OMICRON_SEARCH_SLICE: slice, ...more }));
const sixths = Array.from({ length: 6 }, (_, place) => sliced(`${place + 1}/6`));

describe('a search', () => {
  it('tries all of a list without a slice, in its order', () => {
    expect(searchOf(searchSettings({})).sliceOf(LIST)).toEqual(LIST);
  });

  it('tries each case in exactly one slice, the same one in each run', () => {
    const tried = sixths.map(search => search.sliceOf(LIST));
    expect(tried.flat().toSorted()).toEqual(LIST.toSorted());
    expect(sliced('2/6').sliceOf(LIST)).toEqual(tried[1]);
  });

  it('divides random cases among slices whose seeds lie apart', () => {
    const counts = sixths.map(search => search.countOf(200));
    expect(counts.reduce((sum, count) => sum + count)).toBe(200);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    const seeds = sixths.map(({ seed }) => seed).toSorted((a, b) => a - b);
    expect(seeds[0]).toBe(7);
    for (const [place, seed] of seeds.slice(1).entries()) expect(seed - (seeds[place] ?? 0)).toBeGreaterThan(200);
  });

  it('divides another number of random cases where one is given', () => {
    expect(sliced('1/2', { OMICRON_SEARCH_CASES: '101' }).countOf(20)).toBe(51);
  });

  it('draws a seed that can be given again', () => {
    const { seed } = searchSettings({});
    expect(searchSettings({ OMICRON_SEARCH_SEED: String(seed) }).seed).toBe(seed);
  });

  it.each(['0/6', '7/6', '6', '1/0', '-1/6', 'a/b'])('refuses the slice %s', slice => {
    expect(() => sliced(slice)).toThrow(`OMICRON_SEARCH_SLICE must be 1/N to N/N, and is ${slice}`);
  });

  it('takes the hash of a commit as a seed', () => {
    const { seed } = searchSettings({ OMICRON_SEARCH_SEED: '0846b99f' });
    expect(searchSettings({ OMICRON_SEARCH_SEED: '0846b99f' }).seed).toBe(seed);
    expect(searchSettings({ OMICRON_SEARCH_SEED: '0846b99e' }).seed).not.toBe(seed);
  });

  it('refuses a number of cases that is none', () => {
    expect(() => searchSettings({ OMICRON_SEARCH_CASES: '1e3' })).toThrow('must be a whole number, and is 1e3');
  });
});

describe('the command that repeats a failure', () => {
  const TITLE = `frames > a "list" that isn't open: 100 % (of $1)`;

  it('names seed, slice and cases, and a title that the shell and the filter take as it is', () => {
    const settings = searchSettings({
      ...{ OMICRON_SEARCH_SEED: '7', OMICRON_SEARCH_SLICE: '2/6', OMICRON_SEARCH_CASES: '9' },
    });
    const command = repeatCommand(settings, 'test/a.test.ts', TITLE);
    const seen = execFileSync('sh', ['-c', command.replace('npm test', `printf '%s\\n'`)], { encoding: 'utf8' });
    const [separator, option, project, file, filter, pattern] = seen.trimEnd().split('\n');
    expect([separator, option, project, file, filter]).toEqual(['--', '--project', 'search', 'test/a.test.ts', '-t']);
    expect(new RegExp(pattern ?? '').test(TITLE)).toBe(true);
    expect(command).toMatch(/^OMICRON_SEARCH_SEED=7 OMICRON_SEARCH_SLICE=2\/6 OMICRON_SEARCH_CASES=9 npm test /);
  });
});
