import { describe, expect, it } from 'vitest';
import { chooseProjects } from './choose-projects.ts';

const PROMISED = ['--project=unit', '--project=control-plane', '--project=promises'];

describe('the projects of a test run', () => {
  it('are the promises where nothing is named', () => {
    expect(chooseProjects([])).toEqual(PROMISED);
    expect(chooseProjects(['-t', 'expires', '--bail=1'])).toEqual(['-t', 'expires', '--bail=1', ...PROMISED]);
  });

  it('are all with --all', () => {
    expect(chooseProjects(['--all'])).toEqual([]);
    expect(chooseProjects(['--all', '--bail=1'])).toEqual(['--bail=1']);
  });

  it.each([
    [['test/runner/login.test.ts']],
    [['--project', 'search']],
    [['-p=unit']],
    [['--project=search', 'test/model', '-t', 'epoch']],
  ])('are those that hold what %j names', args => {
    expect(chooseProjects(args)).toEqual(args);
  });
});
