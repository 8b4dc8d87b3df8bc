import { rebuildTestImages, testImages } from './images.ts';
import { besideCluster } from './kubectl.ts';

// For .ci/run: builds what tests on the cluster beside the checkout run, while tests run that need no cluster.
// Each image of the product is built twice, and must have the same digest.

const tool = besideCluster('cluster');
if (tool === undefined) throw new Error('There is no cluster beside the checkout, at ../shared/cluster.');
const log = (line: string) => void process.stdout.write(`${line}\n`);
await testImages(tool, process.env, log);
const same = await rebuildTestImages(tool, process.env, log);
if (Object.values(same).includes(false))
  throw new Error('An image has another digest when it is built again: see the lines above.');
