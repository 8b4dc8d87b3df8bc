import { BrowserSessions } from '../client/browser-sessions.ts';
import { DEMO_LOGIN } from '../local/demo-site.ts';
import { mainJob } from '../local/main-job.ts';
import { steps } from '../local/steps.ts';
import { readOptions } from '../manifests/read-options.ts';
import { deploy, nothingLeft } from './deploy.ts';
import { SITES } from './fixtures/objects.ts';
import { openIngress } from './ingress.ts';
import { store } from './store.ts';

// `npm run cluster [-- --registry HOST/PATH]`: deploys everything to the cluster that KUBECONFIG names and runs the
// main job once.

const USAGE = `Deploys everything to the cluster that KUBECONFIG names, with sites, Postgres and S3 for tests, and runs the main job once.

  npm run cluster                             on the cluster of the tests, beside the checkout
  npm run cluster -- --registry HOST/PATH     on any other; its nodes pull images from there

It takes the namespaces omicron, omicron-browser, omicron-browser-system and omicron-fixtures, and some ten minutes the first time, most of them
for images. Everything stays: npx --no-install omicron-browser doctor --cluster checks it, and docs/rollout.md#2-one-lease-by-hand leases by hand. To remove it:

  kubectl delete -R -f manifests/rendered/local/core && kubectl delete namespace omicron-fixtures
`;

const { registry } = readOptions({ registry: { type: 'string' } }, USAGE);
const print = (line = '') => process.stdout.write(`${line}\n`);
const { step } = steps(print);

async function main(): Promise<void> {
  await step('deploy', say => deploy({ registry, environment: process.env, log: print }).then(how => say(how)));
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
