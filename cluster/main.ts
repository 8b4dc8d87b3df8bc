import { parseArgs } from 'node:util';
import { BrowserSessions } from '../client/browser-sessions.ts';
import { DEMO_LOGIN } from '../local/demo-site.ts';
import { mainJob } from '../local/main-job.ts';
import { steps } from '../local/steps.ts';
import { deploy, nothingLeft } from './deploy.ts';
import { SITES } from './fixtures/objects.ts';
import { openIngress } from './ingress.ts';
import { store } from './store.ts';

// `npm run cluster [-- --registry HOST/PATH]`: deploys everything to the cluster that KUBECONFIG names and runs the
// main job once.

const { values } = parseArgs({ options: { registry: { type: 'string' } } });
const print = (line = '') => process.stdout.write(`${line}\n`);
const { step } = steps(print);

async function main(): Promise<void> {
  await step('deploy', say =>
    deploy({ registry: values.registry, environment: process.env, log: print }).then(how => say(how)),
  );
  const ingress = await openIngress();
  try {
    const { video } = await mainJob({
      sessions: new BrowserSessions(ingress),
      url: `${SITES.shop}/login`,
      login: DEMO_LOGIN,
      screenshot: '.omicron/cluster/screenshot.png',
      print,
    });
    await step('check the bucket', async say => {
      const { objects } = await store.list();
      const found = objects.find(({ key }) => video.uri?.endsWith(key));
      if (found === undefined) throw new Error(`${video.uri} is not in the bucket`);
      say(`${found.key}, ${found.bytes} bytes, encrypted by ${found.encryption}`);
    });
    await step('check that nothing of the lease is left', () => nothingLeft(video.runner_id));
  } finally {
    ingress.close();
  }
}

await main().catch(error => {
  process.stderr.write(`\n${error.message}\n`);
  process.exitCode = 1;
});
