import { deploy } from '../../cluster/deploy.ts';

/**
 * Everything of `npm run cluster` but its main job. OMICRON_CLUSTER_AS_IS=1: it stands already, leave it as it is.
 */
export default async function setup(): Promise<void> {
  if (process.env.OMICRON_CLUSTER_AS_IS === '1') return;
  const log = (line: string) => process.stdout.write(`${line}\n`);
  await deploy({ registry: process.env.OMICRON_CLUSTER_REGISTRY, environment: process.env, log });
}
