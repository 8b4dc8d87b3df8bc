import { defineConfig } from 'vitest/config';
import { CONTROL_PLANE, PROMISES, SEARCHES, UNIT } from './test/setup/projects.ts';

/** A wait ends as soon as what it waits for is there; on a machine with other work, that takes many times vitest's default of 1 s. */
const POLL = { poll: { timeout: 20_000 } };

const INTEGRATION = {
  expect: POLL,
  setupFiles: ['test/setup/runner-logs.ts'],
  globalSetup: ['test/setup/postgres.ts'],
  pool: 'forks' as const,
  testTimeout: 60_000,
  hookTimeout: 120_000,
};

export default defineConfig({
  test: {
    // Two cores: browsers and Postgres share them; more workers than cores only make every wait longer.
    maxWorkers: 2,
    reporters: ['./test/setup/test-report.ts'],
    projects: [
      {
        test: {
          name: 'unit',
          expect: POLL,
          isolate: false,
          include: UNIT,
          exclude: SEARCHES,
          setupFiles: ['test/setup/unit.ts'],
          pool: 'forks',
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: { ...INTEGRATION, name: 'control-plane', include: [CONTROL_PLANE], exclude: [...UNIT, ...SEARCHES] },
      },
      { test: { ...INTEGRATION, name: 'promises', include: PROMISES, exclude: SEARCHES } },
      {
        test: {
          ...INTEGRATION,
          name: 'integration',
          include: ['test/**/*.test.ts'],
          exclude: [...UNIT, CONTROL_PLANE, ...PROMISES, ...SEARCHES, 'test/cluster/**'],
        },
      },
      { test: { ...INTEGRATION, name: 'search', include: SEARCHES } },
    ],
  },
});
