import { beforeEach } from 'vitest';
import { takeRunnerLogs } from '../runner/runner-logs.ts';

// A test that fails shows what its runners logged: how the browser ended, and what the guards of memory and traffic stopped. An `afterEach`
// of here would be left out after one of the test's own that fails, as it does when the runner is gone.

beforeEach(({ task, onTestFinished }) =>
  onTestFinished(() => {
    const logged = takeRunnerLogs();
    for (const error of task.result?.errors ?? []) {
      error.message += logged;
      if (error.stack !== undefined) error.stack += logged;
    }
  }),
);
