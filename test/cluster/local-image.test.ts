import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { localStackImage } from '../../cluster/images.ts';
import { localTool } from '../../cluster/kubectl.ts';
import { ENV, SECCOMP_PROFILE } from '../../contract/names.ts';
import { type DemoSite, startDemoSite } from '../../local/demo-site.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { pythonOf } from '../../local/test-tools.ts';
import { eventually } from '../eventually.ts';
import { processTree, ROOT, run } from '../local/machine.ts';
import { type Container, NETWORK, runContainer } from './container.ts';
import { lookAt } from './node.ts';

const CONTROLLER_URL = `http://${NETWORK.container}:8080`;
/** The user of the image. */
const UID = 1000;

describe('the local stack as one container', { timeout: 120_000 }, () => {
  const serviceSecret = randomBytes(32).toString('hex');
  const sessions = new BrowserSessions({ url: CONTROLLER_URL, serviceSecret });
  let data: string;
  let site: DemoSite;
  let container: Container;
  let start: () => Promise<Container>;

  beforeAll(async () => {
    const tool = localTool();
    if (tool === undefined)
      throw new Error('The image is run under the containerd of the cluster beside the checkout.');
    const image = await localStackImage(tool, process.env, line => console.log(line));
    data = await mkdtemp(join(tmpdir(), 'omicron-data-'));
    await chown(data, UID, UID);
    const sitePort = 8000;
    start = async () => {
      const started = await runContainer({
        ...{ tool, image, data, name: 'omicron-local' },
        seccompProfile: join(ROOT, 'infra', SECCOMP_PROFILE),
        env: {
          [ENV.serviceSecret]: serviceSecret,
          [ENV.publicUrl]: CONTROLLER_URL,
          [ENV.egressAllowedCidrs]: `${NETWORK.machine}/32`,
          [ENV.insecureLoginOrigins]: `http://${NETWORK.machine}:${sitePort}`,
        },
      });
      const ready = () =>
        fetch(`${CONTROLLER_URL}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        );
      await eventually('the stack to be ready', ready, 60_000).catch(error => {
        throw new Error(`${error.message}: ${started.said()}`);
      });
      return started;
    };
    container = await start();
    site = await startDemoSite({ host: NETWORK.machine, port: sitePort });
  }, 600_000);
  afterAll(async () => {
    await container?.remove();
    await site?.close();
    await rm(data, { recursive: true, force: true });
  });

  test('the main job runs through it from Python, by its one published address', async () => {
    const { code, stdout, stderr } = await run(
      pythonOf(ROOT, 'python_sdk'),
      [join('test', 'cluster', 'main_job.py'), site.url],
      {
        env: {
          PYTHONPATH: join(ROOT, 'clients', 'python', 'src'),
          PYTHONDONTWRITEBYTECODE: '1',
          [ENV.controllerUrl]: CONTROLLER_URL,
          [ENV.serviceSecret]: serviceSecret,
        },
      },
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { mcp_url, orders, tabs } = JSON.parse(stdout);
    expect(mcp_url).toMatch(new RegExp(`^${CONTROLLER_URL}/runners/`));
    expect(orders).toContain('Welcome back, Ada');
    expect(tabs).toContain('/orders');
    // as a published port shows it: under the name that the person's browser has for it
    const [pages] = await once(
      get({ host: NETWORK.container, port: 8081, headers: { host: '127.0.0.1:8081' } }),
      'response',
    );
    expect(pages.statusCode).toBe(200);
    pages.destroy();
  });

  test('the command in it knows its stack, and the profile for its sandbox is beside it', async () => {
    expect(await container.exec('omicron-browser', 'console')).toContain('http://127.0.0.1:8081/sign-in#');
    const profile = join('infra', SECCOMP_PROFILE);
    expect(await container.exec('cat', SECCOMP_PROFILE)).toBe(await readFile(profile, 'utf8'));
  });

  test("Chromium's sandbox is on, and no process is root's", async () => {
    const all = await lookAt(processTree(container.pid));
    const [init] = all;
    const renderers = all.filter(({ command }) => command.includes('--type=renderer'));
    expect(renderers.length).toBeGreaterThan(0);
    for (const { status, userNamespace } of renderers) {
      expect(userNamespace).not.toBe(init?.userNamespace);
      expect(status).toMatchObject({ Seccomp: '2', NoNewPrivs: '1', CapEff: '0000000000000000' });
      expect(Number(status.Seccomp_filters)).toBeGreaterThan(Number(init?.status.Seccomp_filters));
    }
    for (const { status } of all) expect(status.Uid?.split('\t')[0]).toBe(String(UID));
  });

  test('a stop ends its leases and stores their videos, and the next container has the data', async () => {
    const request = { userId: 'ada', conversationId: 'chat-2' };
    const lease = await sessions.acquire(request);
    const browser = await connectMcpBrowser(lease);
    await browser.goto(site.url);
    expect(await container.stop()).toBe(0);
    expect(await readdir(join(data, 'runners'))).toEqual([]);
    await container.remove();

    container = await start();
    const { sessions: found } = await sessions.list({ userId: 'ada' });
    expect(found.map(({ status, ended_reason }) => [status, ended_reason])).toEqual([
      ['ended', 'shutdown'],
      ['ended', 'shutdown'],
    ]);
    for (const { session_id } of found) {
      const artifacts = await sessions.listArtifacts(session_id);
      expect(artifacts.filter(({ kind }) => kind === 'video')).toMatchObject([{ state: 'stored' }]);
    }
    expect((await sessions.listCredentials('ada')).sites.map(each => each.site)).toEqual(['bakery']);
    const again = await sessions.acquire(request);
    expect(again).toMatchObject({ sessionId: lease.sessionId, epoch: 2 });
    await again.end();
    expect(await container.stop()).toBe(0);
  });
});
