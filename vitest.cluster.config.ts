import { defineConfig } from 'vitest/config';

/**
 * Tests on a real cluster: the one that KUBECONFIG names, or the one beside the checkout. One file at a time: they share it. Who
 * runs them is root of a node's machine (kind's and k3d's nodes are containers of it) and reaches the addresses of pods.
 */
export default defineConfig({
  test: {
    name: 'cluster',
    include: ['test/cluster/**/*.test.ts'],
    globalSetup: 'test/cluster/setup.ts',
    pool: 'forks',
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 180_000,
  },
});
