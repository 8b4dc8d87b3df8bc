import { expect, it } from 'vitest';
import { tailOf, takeRunnerLogs, watchRunnerLog } from './runner-logs.ts';

const line = (level: number, msg: string) => `${JSON.stringify({ level, msg })}\n`;

it('a failure shows what its runners logged since the test before', () => {
  let output = line(30, 'warm');
  watchRunnerLog('a', () => output);
  watchRunnerLog('silent', () => '');
  expect(takeRunnerLogs()).toBe(`\n\nLog of runner a:\n${line(30, 'warm').trimEnd()}`);
  expect(takeRunnerLogs()).toBe('');
  output += line(50, 'browser ended');
  expect(takeRunnerLogs()).toBe(`\n\nLog of runner a:\n${line(50, 'browser ended').trimEnd()}`);
});

it('a long log is shown by its last lines, and by its warnings and errors', () => {
  const busy = line(20, 'call').repeat(40);
  const shown = tailOf(`${line(50, 'browser ended')}Error: uncaught\n${busy}`).split('\n');
  expect(shown).toHaveLength(17);
  expect(shown[0]).toContain('browser ended');
  expect(shown[1]).toBe('Error: uncaught');
});
