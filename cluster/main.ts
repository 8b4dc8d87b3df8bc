import { parseArgs } from 'node:util';
import { BrowserSessions } from '../client/browser-sessions.ts';
import { DEMO_LOGIN } from '../local/demo-site.ts';
import { mainJob } from '../local/main-job.ts';
import { steps } from '../local/steps.ts';
import { deploy, nothingLeft } from './deploy.ts';
import { SITES } from './fixtures/objects.ts';
import { store } from './store.ts';
import { openWayIn } from './way-in.ts';

// `npm run cluster [-- --registry HOST/PATH]`: everything on the cluster that KUBECONFIG names, and the main job on it, once.

const { values } = parseArgs({ options: { registry: { type: 'string' } } });
const print = (line = '') => process.stdout.write(`${line}\n`);
const { step } = steps(print);

async function main(): Promise<void> {
  await step('deploy', say => deploy({ registry: values.registry, log: print }).then(how => say(how)));
  const wayIn = await openWayIn();
  try {
    const { video } = await mainJob({
      sessions: new BrowserSessions(wayIn),
      url: `${SITES.shop}/login`,
      login: DEMO_LOGIN,
      screenshot: '.omicron/cluster/screenshot.png',
      print,
    });
    await step('look into the bucket', async say => {
      const { objects } = await store.list();
      const found = objects.find(({ key }) => video.uri?.endsWith(key));
      if (found === undefined) throw new Error(`${video.uri} is not in the bucket`);
      say(`${found.key}, ${found.bytes} bytes, encrypted by ${found.encryption}`);
    });
    await step('see that nothing of the lease is left', () => nothingLeft(video.runner_id));
  } finally {
    wayIn.close();
  }
}

await main().catch(error => {
  process.stderr.write(`\n${error.message}\n`);
  process.exitCode = 1;
});
