import { defineConfig } from 'vitest/config';

/** The policy of signed images on a Kyverno that is built first: minutes where Go has compiled none of it, so not in CI. */
export default defineConfig({
  test: {
    name: 'kyverno',
    include: ['test/kyverno/*.kyverno.ts'],
    pool: 'forks',
    hookTimeout: 1_800_000,
    testTimeout: 60_000,
  },
});
