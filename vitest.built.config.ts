import { defineConfig } from 'vitest/config';

/** Not in CI: tests on programs that are built from their Go modules first, which takes minutes, and one that needs a cluster without leases. */
export default defineConfig({
  test: {
    name: 'built',
    include: ['test/{collector,kyverno}/*.{collector,kyverno}.ts', 'test/cluster/density.alone.ts'],
    pool: 'forks',
    hookTimeout: 1_800_000,
    testTimeout: 1_800_000,
  },
});
