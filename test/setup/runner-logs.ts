import { afterEach } from 'vitest';
import { takeRunnerLogs } from '../runner/runner-logs.ts';

// A test that fails shows what its runners logged: how the browser ended, and what the guards of memory and traffic stopped.

afterEach(({ task }) => {
  const logged = takeRunnerLogs();
  for (const error of task.result?.errors ?? []) {
    error.message += logged;
    if (error.stack !== undefined) error.stack += logged;
  }
});
