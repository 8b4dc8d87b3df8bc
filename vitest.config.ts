import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/cluster/**', 'node_modules/**'],
    globalSetup: ['test/setup/postgres.ts'],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Two cores: browsers and Postgres share them; more workers than cores only make every wait longer.
    maxWorkers: 2,
  },
});
