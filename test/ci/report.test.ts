import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'omicron-report-'));

type Outcome = 'passed' | 'failed' | 'skipped';
const file = (name: string, outcomes: Outcome[], status = outcomes.includes('failed') ? 'failed' : 'passed') => ({
  name,
  status,
  message: status === 'failed' && !outcomes.includes('failed') ? 'Cannot find module\nat x' : '',
  assertionResults: outcomes.map((status, index) => ({
    fullName: `test ${index}`,
    status,
    duration: status === 'failed' ? 60_049 : 1_210,
    failureMessages: status === 'failed' ? ['Error: late\n  at y'] : [],
  })),
});

function report(name: string, ...testResults: ReturnType<typeof file>[]): string {
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify({ testResults }));
  return path;
}

function run(...args: string[]) {
  const { status, stdout } = spawnSync(process.execPath, ['.ci/report.js', ...args], { encoding: 'utf8' });
  return { status, lines: stdout.trimEnd().split('\n') };
}

describe('the report of .ci/run', () => {
  it('counts all reports, names each failure and ends with the line that is read', () => {
    const one = report('one', file('a', ['passed', 'passed']), file('b', ['passed', 'failed']));
    const two = report('two', file('c', ['passed']), file('d', [], 'failed'));
    expect(run('summary', one, two)).toEqual({
      status: 1,
      lines: [
        'FAILED b: test 1 (60.0 s)',
        '    Error: late',
        '      at y',
        'FAILED d',
        '    Cannot find module',
        '    at x',
        '4 passed, 2 failed',
      ],
    });
  });

  it('counts a skipped test and a run without a report as failures', () => {
    const skipped = report('skipped', file('a', ['passed', 'skipped']));
    expect(run('summary', skipped).lines).toContain('1 passed, 1 failed');
    expect(run('summary', join(folder, 'none.json'))).toMatchObject({ status: 1 });
  });

  it('counts an error outside of any test, with what the run printed last', () => {
    const one = report('outside', file('a', ['passed']));
    writeFileSync(`${one}.exit-code`, '1\n');
    writeFileSync(`${one}.log`, 'Unhandled Error\nError: worker gone\n');
    const { status, lines } = run('summary', one);
    expect(lines[0]).toContain('FAILED');
    expect(lines[1]).toContain('outside of any test, exit code 1');
    expect(lines.slice(2)).toEqual(['Unhandled Error', 'Error: worker gone', '1 passed, 1 failed']);
    expect(status).toBe(1);
    const again = report('outside-again', file('a', ['passed']));
    writeFileSync(`${again}.log`, 'all is well\n');
    const repeated = run('summary', `${one}=${again}`);
    expect(repeated.status).toBe(0);
    expect(repeated.lines[0]).toContain('FLAKY');
    expect(repeated.lines.slice(4)).toEqual(['When run again: passed', 'all is well', '2 passed, 0 failed']);
  });

  it('prints what the run printed when a file failed without a reason', () => {
    const crashed = report('crashed', { ...file('a', ['passed']), status: 'failed', message: '' });
    writeFileSync(`${crashed}.log`, 'Error: worker gone\n');
    expect(run('summary', crashed)).toMatchObject({ status: 1 });
    expect(run('summary', crashed).lines).toContain('Error: worker gone');
  });

  it('names a test that passed only when it ran again, with both outcomes, and fails for one that failed again', () => {
    const first = report('first', file('a', ['passed']), file('b', ['failed']), file('c', ['failed']));
    const again = report('again', file('b', ['passed']), file('c', ['failed']));
    expect(run('failed', first).lines).toEqual(['b', 'c']);
    expect(run('summary', `${first}=${again}`)).toEqual({
      status: 1,
      lines: [
        'FLAKY b: test 0 (60.0 s)',
        '    Error: late',
        '      at y',
        '    When run again, by itself: passed (1.2 s)',
        'FAILED c: test 0 (60.0 s)',
        '    Error: late',
        '      at y',
        '    When run again, by itself: failed (60.0 s)',
        '        Error: late',
        '          at y',
        '2 passed, 1 failed',
      ],
    });
    const flaky = `${first}=${report('both', file('b', ['passed']), file('c', ['passed']))}`;
    expect(run('summary', flaky)).toMatchObject({ status: 0 });
    expect(run('summary', flaky).lines.at(-1)).toBe('3 passed, 0 failed');
  });
});
