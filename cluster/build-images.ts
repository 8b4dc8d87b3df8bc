import { testImages } from './images.ts';
import { besideCluster } from './kubectl.ts';

// For .ci/run: builds what tests on the cluster beside the checkout run, while tests run that need no cluster.

const tool = besideCluster('cluster');
if (tool === undefined) throw new Error('There is no cluster beside the checkout, at ../shared/cluster.');
await testImages(tool, process.env, line => process.stdout.write(`${line}\n`));
