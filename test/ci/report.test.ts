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
      lines: ['FAILED b: test 1', '    Error: late', 'FAILED d: Cannot find module', '4 passed, 2 failed'],
    });
  });

  it('counts a skipped test and a run without a report as failures', () => {
    const skipped = report('skipped', file('a', ['passed', 'skipped']));
    expect(run('summary', skipped).lines).toContain('1 passed, 1 failed');
    expect(run('summary', join(folder, 'none.json'))).toMatchObject({ status: 1 });
  });

  it('counts an error outside of any test, with what was said on stderr', () => {
    const one = report('outside', file('a', ['passed']));
    writeFileSync(`${one}.exit-code`, '1\n');
    writeFileSync(`${one}.stderr`, 'Unhandled Error\nError: worker gone\n');
    const { status, lines } = run('summary', one);
    expect(lines.slice(1)).toEqual(['Unhandled Error', 'Error: worker gone', '1 passed, 1 failed']);
    expect(lines[0]).toContain('outside of any test');
    expect(status).toBe(1);
    const again = report('outside-again', file('a', ['passed']));
    const second = run('summary', `${one}=${again}`);
    expect(second).toMatchObject({
      status: 0,
      lines: [expect.stringMatching(/^FLAKY/), ...lines.slice(1, -1), '1 passed, 0 failed'],
    });
    writeFileSync(`${again}.exit-code`, '1\n');
    expect(run('summary', `${one}=${again}`).status).toBe(1);
  });

  it('says what was on stderr when a file failed without a reason', () => {
    const first = report('crashed', { ...file('a', ['passed']), status: 'failed' });
    writeFileSync(`${first}.stderr`, 'Error: worker gone\n');
    const again = report('crashed-again', file('a', ['passed']));
    expect(run('summary', `${first}=${again}`)).toMatchObject({
      status: 0,
      lines: ['Error: worker gone', expect.stringContaining('FLAKY, passed when run again a: '), '1 passed, 0 failed'],
    });
  });

  it('names what passed only when it ran again, and what failed again fails', () => {
    const first = report('first', file('a', ['passed']), file('b', ['failed']), file('c', ['failed']));
    const again = report('again', file('b', ['passed']), file('c', ['failed']));
    expect(run('failed', first).lines).toEqual(['b', 'c']);
    expect(run('summary', `${first}=${again}`)).toEqual({
      status: 1,
      lines: [
        'FLAKY, passed when run again b: test 0',
        '    Error: late',
        'FAILED c: test 0',
        '    Error: late',
        '2 passed, 1 failed',
      ],
    });
    expect(run('summary', `${first}=${report('both', file('b', ['passed']), file('c', ['passed']))}`).status).toBe(0);
  });
});
