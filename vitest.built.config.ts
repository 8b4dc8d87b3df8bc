import { defineConfig } from 'vitest/config';

/** Tests on programs that are built from their Go modules first: minutes where Go has compiled none of it, so not in CI. */
export default defineConfig({
  test: {
    name: 'built',
    include: ['test/{collector,kyverno,sigstore}/*.{collector,kyverno,sigstore}.ts'],
    pool: 'forks',
    hookTimeout: 1_800_000,
    testTimeout: 60_000,
  },
});
