import { defineConfig } from 'vitest/config';
import cluster from './vitest.cluster.config.ts';

/** One test on a cluster, by itself: leases that other files leave there take places that it counts on. */
export default defineConfig({
  test: { ...cluster.test, name: 'density', include: ['test/cluster/density.alone.ts'] },
});
