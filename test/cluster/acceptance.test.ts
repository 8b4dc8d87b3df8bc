import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import type { Connection } from '../../client/controller-api.ts';
import type { Lease } from '../../client/lease.ts';
import { nothingLeft } from '../../cluster/deploy.ts';
import { SITES } from '../../cluster/fixtures/objects.ts';
import { type Ingress, openIngress } from '../../cluster/ingress.ts';
import { store } from '../../cluster/store.ts';
import { artifactKey } from '../../contract/artifact-name.ts';
import { ENV, LABELS, NAMESPACES, PORTS } from '../../contract/names.ts';
import { LAST_PAGE } from '../../contract/page-names.ts';
import { problemSchema } from '../../contract/problem.ts';
import { LIMITS, leaseAnswer } from '../../contract/session.ts';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';
import { startController } from '../../controller/compose.ts';
import { kubernetesRunners } from '../../controller/runners/kubernetes/provider.ts';
import { parseControllerSettings } from '../../controller/settings.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { waitForRecordings } from '../../local/wait-for-recordings.ts';
import { eventually } from '../eventually.ts';
import { startPostgresServer } from '../postgres-server.ts';
import { v2 } from '../runner/mcp-clients.ts';
import { visitConsole } from './console-visit.ts';
import { rows } from './database.ts';
import { kubelet } from './node.ts';
import { kill9, onNode, processesLike } from './node-faults.ts';
import { addressOf, podsOf, uidOf } from './pods.ts';
import { asController, copyRunnersNamespace } from './runners-namespace-copy.ts';

// The six acceptance scenarios of the seed once more, through Services and NetworkPolicies: this process speaks as
// the API.
let ingress: Ingress;
let sessions: BrowserSessions;
beforeAll(async () => {
  ingress = await openIngress();
  sessions = new BrowserSessions(ingress);
});
afterAll(() => ingress.close());

/** Users of this test only, so that no other test uses their quota. */
const someUser = (name: string): string => `${name}-${randomUUID()}`;

/** Ends with the test. */
async function leaseOf(
  userId: string,
  more: { recordVideo?: boolean; keepPages?: 'last' } = { recordVideo: false },
): Promise<Lease> {
  const lease = await sessions.acquire({ userId, conversationId: 'same', ...more });
  onTestFinished(() => lease.end());
  return lease;
}

/** A client of each replica alone, past the Service that would choose one. */
async function replicas(): Promise<[BrowserSessions, BrowserSessions]> {
  const pods = await podsOf(NAMESPACES.system, `${LABELS.app}=${LABELS.controllerApp}`);
  const [one, two] = pods.map(
    pod => new BrowserSessions({ ...ingress, url: `http://${addressOf(pod)}:${PORTS.controller}` }),
  );
  if (!one || !two) throw new Error('there are no two controllers');
  return [one, two];
}

/** One request as an API without the SDK makes it; asked again while the browser is starting. */
async function getOrCreate(at: Connection, request: { user_id: string } & Record<string, unknown>) {
  for (;;) {
    const token = await signServiceToken(serviceKey(at.serviceSecret), request.user_id);
    const response = await fetch(`${at.url}/internal/browser-sessions/get-or-create`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...request, wait_seconds: LIMITS.waitSecondsMax }),
    });
    const body: unknown = await response.json();
    if (response.status !== 202) return { status: response.status, body };
  }
}

const TABS = ['browser_tabs', { action: 'list' }] as const;

const runnerPods = (sessionId: string) => podsOf(NAMESPACES.runners, `${LABELS.sessionId}=${sessionId}`);

describe('[A1] acceptance over streamable HTTP, on a Kubernetes without a cloud', { timeout: 240_000 }, () => {
  test('[O22] isolation: two users at once have different runners and share no cookies', async () => {
    const [ada, bob] = [someUser('ada'), someUser('bob')];
    for (const user of [ada, bob]) {
      await sessions.putCredential(user, 'shop', { username: `${user}-name`, password: randomUUID() });
      onTestFinished(() => sessions.deleteCredential(user, 'shop'));
    }
    const [hers, his] = await Promise.all([leaseOf(ada), leaseOf(bob)]);
    expect(hers.sessionId).not.toBe(his.sessionId);
    expect(hers.mcpUrl).not.toBe(his.mcpUrl);
    await using a = await connectMcpBrowser(hers);
    await using b = await connectMcpBrowser(his);

    await a.goto(`${SITES.site}/login`);
    await a.call('browser_fill_form', {
      fields: [
        { name: 'User name', type: 'textbox', target: 'input[name=username]', value: 'SHOP_USERNAME' },
        { name: 'Password', type: 'textbox', target: 'input[name=password]', value: 'SHOP_PASSWORD' },
      ],
    });
    await a.call('browser_click', { element: 'Log in', target: 'button' });
    const greeting = "() => document.querySelector('p').textContent";
    // Its own greeting would hold the name, which is secret: the answer has the secret's name in its place.
    expect(await a.evaluate(greeting)).toMatch(/^Hello .*SHOP_USERNAME/);

    await b.goto(`${SITES.site}/account`);
    expect(await b.evaluate(greeting)).toBe('You are not logged in.');

    // Neither token opens the other's browser.
    const crossed = await fetch(his.mcpUrl, {
      method: 'POST',
      headers: {
        ...hers.headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: '{}',
    });
    expect(crossed.status).toBe(401);
  });

  test('[O22] reuse: the same conversation gets the same runner, tabs and cookies from either replica', async () => {
    const user = someUser('ada');
    const [one, two] = await replicas();
    const request = { userId: user, conversationId: 'same', recordVideo: false };
    const first = await one.acquire(request);
    onTestFinished(() => first.end());
    {
      await using before = await connectMcpBrowser(first);
      await before.goto(`${SITES.site}/login`);
      await before.call('browser_evaluate', { function: "() => { document.cookie = 'kept=yes'; }" });
    }
    const again = await two.acquire(request);
    for (const what of ['sessionId', 'epoch', 'mcpUrl', 'headers'] as const) expect(again[what]).toEqual(first[what]);
    await using after = await connectMcpBrowser(again);
    expect(await after.evaluate('() => [location.pathname, document.cookie]')).toEqual(['/login', 'kept=yes']);
  });

  test('a person opens the console through its Service, signs in with a token of the platform, and sees their own sessions', async () => {
    const [ada, bob] = [someUser('ada'), someUser('bob')];
    const [hers] = await Promise.all([leaseOf(ada), leaseOf(bob)]);
    const { page, unsigned, signIn, sessions: seen } = await visitConsole(ada);
    expect(page).toContain('<script type="module"');
    expect([unsigned, signIn]).toEqual([401, 204]);
    expect(seen.sessions.map(({ session_id }) => session_id)).toEqual([hers.sessionId]);
  });

  test('[O22] TTL expiry: an idle lease ends, its pod and name go, the next request starts a new epoch', async () => {
    // Not by the SDK: that keeps what it holds alive.
    const request = { user_id: someUser('ada'), conversation_id: 'same', ttl_seconds: 5, record_video: false };
    const idle = async () => {
      const { status, body } = await getOrCreate(ingress, request);
      expect(status).toBe(200);
      return leaseAnswer.parse(body);
    };
    const first = await idle();
    const { runner_id: runnerId } = await sessions.get(first.session_id);
    const client = await v2({ mcpUrl: first.mcp_url ?? '', headers: first.mcp_headers ?? {} });
    const ended = await eventually(
      'the lease to expire',
      async () => {
        const session = await sessions.get(first.session_id);
        return session.status === 'ended' && session;
      },
      90_000,
    );
    expect(ended).toMatchObject({ ended_reason: 'expired', mcp_url: null });
    await nothingLeft(runnerId ?? '');
    expect(await client.call(...TABS)).toMatchObject({ isError: true, text: expect.stringContaining('nothing used') });
    await client.close();
    const next = await idle();
    expect(next).toMatchObject({ session_id: first.session_id, epoch: first.epoch + 1 });
    await sessions.end(next.session_id);
  });

  test('a client that is connected when its lease ends reads why in each call, while its pod goes and after it', async () => {
    const lease = await leaseOf(someUser('ada'));
    const { runner_id: runnerId } = await sessions.get(lease.sessionId);
    await eventually('its pod is labelled', async () => (await runnerPods(lease.sessionId)).length > 0);
    const client = await v2(lease);
    expect(await client.call(...TABS)).toMatchObject({ isError: false });
    await lease.end();
    const ended = { isError: true, text: expect.stringContaining('The lease has ended: the platform ended it.') };
    let isGone = false;
    const gone = nothingLeft(runnerId ?? '').finally(() => {
      isGone = true;
    });
    while (!isGone) expect(await client.call(...TABS)).toMatchObject(ended);
    await gone;
    expect(await client.call(...TABS)).toMatchObject(ended);
    const late = await v2(lease); // one that connects only now
    expect(await late.call(...TABS)).toMatchObject(ended);
    // the token of the lease is still needed, and programs read a status
    const post = (headers: Record<string, string>) =>
      fetch(lease.mcpUrl, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: '{}' });
    expect((await post({ authorization: 'Bearer x' })).status).toBe(401);
    const problem = await post({ ...lease.headers, accept: 'application/problem+json' });
    expect(problemSchema.parse(await problem.json())).toMatchObject({ status: 409, code: 'lease_ended' });
    for (const each of [client, late]) await each.close();
  });

  test('[O22] create race: 100 calls at once over both replicas make one runner', async () => {
    const both = await replicas();
    const user = someUser('ada');
    const request = { userId: user, conversationId: 'same', recordVideo: false, waitSeconds: 120 };
    const leases = await Promise.all(
      Array.from({ length: 100 }, (_, index) => both[index % 2 === 0 ? 0 : 1].acquire(request)),
    );
    onTestFinished(async () => void (await Promise.all(leases.map(lease => lease.end()))));
    expect(new Set(leases.map(({ sessionId, epoch, mcpUrl }) => `${sessionId} ${epoch} ${mcpUrl}`)).size).toBe(1);
    const [lease] = leases;
    expect(lease?.epoch).toBe(1);
    const { sessions: found } = await sessions.list({ userId: user });
    expect(found).toHaveLength(1);
    const pods = await eventually('its pod is labelled', async () => {
      const labelled = await runnerPods(lease?.sessionId ?? '');
      return labelled.length > 0 && labelled;
    });
    expect(pods.map(({ metadata }) => metadata?.labels?.[LABELS.runnerId])).toEqual([found[0]?.runner_id]);
  });

  test('[O22] artifacts: the video lies under its prefix in S3, and the last page under its own, encrypted; it plays, and is nowhere else', async () => {
    const lease = await leaseOf(someUser('ada'), { keepPages: 'last' });
    const { artifacts_prefix: prefix, runner_id: runnerId } = await sessions.get(lease.sessionId);
    const pod = await eventually('its pod is labelled', async () => (await runnerPods(lease.sessionId))[0]);
    const files = `${(await kubelet()).root}/pods/${uidOf(pod)}`;
    await access(files);
    {
      await using browser = await connectMcpBrowser(lease);
      await browser.goto(`${SITES.site}/animated`);
      await browser.call('browser_wait_for', { time: 2 });
    }
    await lease.end();
    const [video] = await waitForRecordings(sessions, {
      sessionId: lease.sessionId,
      epoch: lease.epoch,
      withinSeconds: 120,
    });
    expect(video).toMatchObject({ state: 'stored', epoch: lease.epoch, runner_id: runnerId });
    expect(prefix).toBe(`pw-videos/local/${lease.sessionId}/${lease.epoch}-${runnerId}/`);

    await nothingLeft(runnerId ?? '');
    const { objects, unfinished } = await store.list();
    const ours = objects.filter(({ key }) => key.includes(lease.sessionId));
    const key = `${prefix}${video?.name}`;
    const names = [...Object.values(LAST_PAGE), video?.name ?? ''];
    expect(ours.map(each => each.key).sort()).toEqual(names.map(name => artifactKey(prefix ?? '', name)).sort());
    expect(new Set(ours.map(({ encryption }) => encryption))).toEqual(new Set(['aws:kms']));
    expect(ours.find(each => each.key === key)?.bytes).toBe(video?.bytes);
    expect(video?.uri).toMatch(new RegExp(`^s3://[^/]+/${key}$`));
    expect(unfinished.filter(each => each.includes(lease.sessionId))).toEqual([]);
    expect(await probed(await store.get(key))).toMatchObject({ codec: 'vp8', width: 1920, height: 1080 });
    await eventually(
      'the node forgets its files',
      () =>
        access(files).then(
          () => false,
          () => true,
        ),
      60_000,
    );
  });

  test.skipIf(!onNode)(
    'profiles: a login goes from the runner of one lease to that of the next, and a runner killed in a save loses that save alone',
    async () => {
      const userId = someUser('ada');
      let leases = 0;
      const next = async () => {
        leases += 1;
        const lease = await sessions.acquire({
          ...{ userId, conversationId: `profile-${leases}`, recordVideo: false, waitSeconds: 120 },
          ...{ profile: 'work', profileForm: 'complete' },
        });
        onTestFinished(() => lease.end());
        const { runner_id } = await sessions.get(lease.sessionId);
        return { lease, browser: await connectMcpBrowser(lease), runnerId: runner_id };
      };
      /** A cookie, which a save reads from the browser, and a record of a database, which it reads from the files. */
      const run = (work: string) => `async () => {
      const db = await new Promise(done => {
        const request = indexedDB.open('rounds', 1);
        request.onupgradeneeded = () => request.result.createObjectStore('s');
        request.onsuccess = () => done(request.result);
      });
      const store = db.transaction('s', 'readwrite').objectStore('s');
      const ended = request => new Promise(done => { request.onsuccess = () => done(request.result) });
      ${work}
    }`;
      const write = (round: number) =>
        run(
          `document.cookie = 'round=${round}; max-age=3600'; await ended(store.put(${round}, 'round')); return true;`,
        );
      const READ = run("return [Number(/round=(\\d+)/.exec(document.cookie)?.[1]), await ended(store.get('round'))];");

      const first = await next();
      await first.browser.goto(`${SITES.site}/login`);
      await first.browser.evaluate(write(1));
      expect(await sessions.saveProfile(userId, 'work')).toBe(1);
      await first.lease.end();
      const second = await next();
      expect(second.runnerId).not.toBe(first.runnerId);
      await second.browser.goto(`${SITES.site}/login`);
      expect(await second.browser.evaluate(READ)).toEqual([1, 1]);
      await second.browser.evaluate(write(2));
      const pod = await eventually('its pod is labelled', async () => (await runnerPods(second.lease.sessionId))[0]);
      const processes = await processesLike(uidOf(pod), /runner\/main/);
      const saving = sessions.saveProfile(userId, 'work').then(
        () => true,
        () => false,
      );
      const writing = "select name from omicron.profile_objects where state = 'writing'";
      const begins = eventually('it writes', async () => (await rows(writing)).length > 0).catch(() => undefined);
      await Promise.race([begins, saving]);
      kill9(processes);
      const rounds = (await saving) ? [2] : [1, 2];
      await eventually(
        'its lease has ended, and lets go of the profile',
        async () => (await sessions.get(second.lease.sessionId)).status === 'error',
        60_000,
      );
      const third = await next();
      await third.browser.goto(`${SITES.site}/login`);
      const [cookie, record] = (await third.browser.evaluate(READ)) as [number, number];
      expect(rounds).toContain(cookie);
      expect(record).toBe(cookie);
      await third.lease.end();
      const { objects } = await store.list();
      expect(objects.filter(({ key }) => key.startsWith('profiles/')).length).toBeGreaterThan(0);
      await eventually('the last save', () => sessions.deleteProfile(userId, 'work').then(() => true));
    },
  );

  // A controller of the test's own, on a namespace of its own: the deployment's template stays as it is.
  test('[O22] failure: a runner that cannot start makes the session an error that says why, as the kubelet says it', async () => {
    await using copy = await copyRunnersNamespace('omicron-browser-copy-failure', { admissionPolicies: false });
    const image = 'localhost/omicron-browser-runner:never-built';
    const templateName = await copy.template('cannot-start', ({ template }) => {
      for (const browser of template?.spec?.containers ?? []) browser.image = image;
    });
    await using own = await controllerOn(copy.namespace, templateName);
    // Not by the SDK: that tries again.
    const { status, body } = await getOrCreate(own, { user_id: 'ada', conversation_id: 'same' });
    expect(status).toBe(503);
    const problem = problemSchema.parse(body);
    expect(problem.code).toBe('runner_start_failed');
    // The place, the fault in the kubelet's word, and its message in full.
    expect(problem.detail).toMatch(/Container browser cannot start \((ErrImagePull|ImagePullBackOff)/);
    expect(problem.detail).toContain(image);
    expect(problem.detail).toMatch(/failed to (pull|resolve)|Back-off pulling/i);
    const session = await new BrowserSessions(own).get(problem.session_id ?? '');
    expect(session).toMatchObject({ status: 'error', error: problem.detail });
    await eventually(
      'the failed pod is gone',
      async () => (await podsOf(copy.namespace, LABELS.runnerId)).length === 0,
      60_000,
    );
  });
});

/** Picture of a recording, once it plays to its end. */
async function probed(video: Buffer): Promise<{ codec: string; width: number; height: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'omicron-video-'));
  try {
    const file = join(folder, 'video.webm');
    await writeFile(file, video);
    const show = ['-show_entries', 'stream=codec_name,width,height:packet=pts_time', '-of', 'json', file];
    const { stdout } = await promisify(execFile)('ffprobe', ['-v', 'error', ...show]);
    const { streams, packets } = JSON.parse(stdout);
    expect(Number(packets.at(-1).pts_time)).toBeGreaterThan(1.5); // seconds
    return { codec: streams[0].codec_name, width: streams[0].width, height: streams[0].height };
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A controller in this process, with a Postgres of its own and the rights of the deployment's. */
async function controllerOn(namespace: string, templateName: string) {
  const dataDir = await mkdtemp(join(tmpdir(), 'omicron-own-'));
  const postgres = await startPostgresServer({ initdb: ['--no-sync'], server: ['-c', 'fsync=off'] });
  const log = pino({ level: 'silent' });
  const serviceSecret = randomBytes(32).toString('hex');
  const chosen = parseControllerSettings({
    ...{ OMICRON_HOST: '127.0.0.1', OMICRON_PORT: 0, OMICRON_DATA_DIR: dataDir, OMICRON_POOL_IDLE: 0 },
    ...{ OMICRON_SECRET_STORE: 'file', OMICRON_SECRET_FILE_KEY: randomBytes(32).toString('base64') },
    [ENV.databaseUrl]: `${postgres.url}/postgres`,
    [ENV.serviceSecret]: serviceSecret,
    [ENV.egressSecret]: randomBytes(32).toString('hex'),
    [ENV.signingKey]: JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })),
    [ENV.derivationKey]: randomBytes(32).toString('base64'),
  });
  const database = postgresDatabase({ url: chosen.databaseUrl, connectionsMax: 5, log });
  const config = await asController();
  let stopWatching = () => {};
  const controller = await startController({
    ...{ settings: chosen, database, log, runnerEnv: {} },
    async provider(context) {
      const runners = kubernetesRunners({ ...context, config, namespace, templateName });
      await runners.start();
      stopWatching = () => runners.stop();
      return runners;
    },
  });
  return {
    url: controller.url,
    serviceSecret,
    async [Symbol.asyncDispose]() {
      await controller.shutdown();
      stopWatching();
      await database.close();
      await postgres.stop();
      await rm(dataDir, { recursive: true });
    },
  };
}
