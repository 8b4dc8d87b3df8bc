import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { waitUntilRunning } from '../../cluster/deploy.ts';
import { FIXTURES } from '../../cluster/fixtures/objects.ts';
import { type Ingress, openIngress } from '../../cluster/ingress.ts';
import { kubectl, tryKubectl } from '../../cluster/kubectl.ts';
import { LABELS, NAMESPACES, RUNNER_TEMPLATE } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import { v2 } from '../runner/mcp-clients.ts';
import { openSearch } from '../search.ts';
import { argoPaused } from './argo-paused.ts';
import { controllers, inSystem, killControllers } from './controllers.ts';
import { rows } from './database.ts';
import { type FaultLine, report } from './fault-table.ts';
import { closeGate, installGate, removeGate, type STEPS, userHeldAt } from './gate.ts';
import {
  comesBack,
  type Held,
  hibernatesWith,
  hold,
  holdLease,
  losesItsRunner,
  seesItsPage,
  startsAgain,
  stillServes,
  videoStored,
} from './held.ts';
import { kill9, onNode, processesLike, squeezeMemory, whileStopped, writeIntoVolume } from './node-faults.ts';
import { orphans } from './orphans.ts';

// Real faults, a list that grows: each with leases that live before it and are looked at after it. A fault of the node itself (its
// kubelet, its processes) needs the node: those tests run where the cluster stands beside the checkout, and are
// skipped elsewhere.

const inRunners = ['-n', NAMESPACES.runners] as const;
const inFixtures = ['-n', FIXTURES] as const;
/** How long a part of the cluster is away: longer than a controller waits for an answer of the API server, 10 s. */
const AWAY_MS = 15_000;
/** Nothing is measured against these: a slow machine only takes longer. */
const LIMIT = { timeout: 300_000 };

interface Fault {
  readonly title: string;
  readonly run: () => Promise<void>;
  /** It is caused by root of the node. */
  readonly node?: boolean;
  /** It is in every slice. */
  readonly always?: boolean;
}
const search = openSearch();
const faults: Fault[] = [];
function fault(title: string, run: () => Promise<void>, more: Pick<Fault, 'node' | 'always'> = {}): void {
  faults.push({ title, run, ...more });
}

const WARM = "select id from omicron.runners where state = 'warm'";

const lines: FaultLine[] = [];
let ingress: Ingress;
let sessions: BrowserSessions;
let heldNow: Held[] = [];
/** When the fault of this test happened; null: it lasts until `afterwards`. */
let happenedMs: number | null = null;
const happens = () => {
  happenedMs = performance.now();
};

const lease = async (options: { recorded?: boolean } = {}): Promise<Held> => {
  const held = await hold(sessions, options);
  heldNow.push(held);
  return held;
};
const serves = (...all: Held[]) => Promise.all(all.map(held => stillServes(sessions, held)));
/** After an outage one controller may answer that there is no database when the other has it again: a client asks again. */
const servesAgain = (...all: Held[]) => eventually('leases serve again', () => serves(...all).then(() => true), 60_000);
const leaseAgain = async (held: Held): Promise<void> => {
  heldNow.push(await startsAgain(sessions, held));
};
const leaseBack = async (held: Held): Promise<void> => {
  heldNow.push(await comesBack(sessions, held));
};
/** A part of the cluster goes away with a runner at hand: without it, nothing new can start from the pool. */
const warmRunner = () => eventually('a runner is warm', async () => (await rows(WARM)).length > 0, 150_000);
const noOrphans = async (): Promise<number> => {
  const left = async () => (await orphans().catch(error => [String(error)])).join('\n');
  await eventually('cluster and database agree', async () => (await left()) === '', 150_000).catch(async error => {
    throw new Error(`orphans:\n${await left()}`, { cause: error });
  });
  return (await orphans()).length;
};

/** The line of one fault: heals, then ends every lease and sees what is left of it. */
async function afterwards(
  fault: string,
  expected: { sessionsLost: number; videosLost?: number },
  heal: () => Promise<unknown>,
) {
  const sinceMs = happenedMs ?? performance.now();
  await heal();
  const recoveryMs = performance.now() - sinceMs;
  const held = heldNow;
  heldNow = [];
  await Promise.all(held.map(({ browser }) => browser[Symbol.asyncDispose]()));
  await Promise.all(held.map(each => each.lease.end()));
  const recorded = held.filter(each => each.recorded);
  const stored = await Promise.all(recorded.map(each => videoStored(sessions, each)));
  const users = new Set(held.map(({ userId }) => userId));
  const line: FaultLine = {
    fault,
    sessions: users.size,
    sessionsLost: held.filter(each => each.lost).length,
    videos: recorded.length,
    videosLost: stored.filter(each => !each).length,
    recoveryMs: Math.round(recoveryMs),
    orphans: await noOrphans(),
  };
  lines.push(line);
  expect(line).toMatchObject({ videosLost: 0, orphans: 0, ...expected });
}

beforeAll(async () => {
  await installGate();
  ingress = await openIngress();
  sessions = new BrowserSessions(ingress);
});
beforeEach(async () => {
  happenedMs = null;
  await waitUntilRunning();
  await noOrphans();
}, 200_000);
afterEach(async () => {
  for (const held of heldNow) await held.lease.end().catch(() => {}); // of a test that failed
  heldNow = [];
});
afterAll(async () => {
  report(lines, '.omicron/faults.json');
  await removeGate();
  ingress.close();
});

for (const { what, commits } of [
  { what: 'and the step is rolled back', commits: false },
  { what: 'before it hears that the step was committed', commits: true },
])
  fault(
    `a controller killed within claim, redeem and ready, ${what}, costs no lease: asking again gets a browser`,
    async () => {
      const before = await lease({ recorded: true });
      const gate = await closeGate();
      try {
        const failed: unknown[] = [];
        const hanging = async (most: number) => {
          if (failed.length > 0) throw failed[0];
          const all = await gate.hanging();
          return all.length >= most && all;
        };
        const ask = (step: (typeof STEPS)[number]) => {
          const userId = userHeldAt(step, randomUUID());
          const acquired = sessions.acquire({ userId, conversationId: 'c', recordVideo: false, waitSeconds: 180 });
          acquired.catch(error => failed.push(error));
          return { userId, acquired };
        };
        // The claim comes last: it is answered for within seconds, and the other two must have got that far.
        const asked = [ask('redeem'), ask('ready')];
        await eventually('redeem and ready hang', () => hanging(asked.length), 150_000);
        asked.push(ask('claim'));
        const all = await eventually('the claim hangs too', () => hanging(asked.length), 60_000);
        const leaders = (await controllers()).filter(({ address }) => all.some(each => each.address === address));
        expect(leaders.length).toBeGreaterThan(0);
        await killControllers(leaders);
        if (!commits) await gate.rollBack();
        await gate.open();
        await afterwards(
          `controller killed in claim, redeem, ready (${commits ? 'committed' : 'rolled back'})`,
          { sessionsLost: 0 },
          async () => {
            await serves(before);
            for (const { userId, acquired } of asked)
              heldNow.push(await holdLease(sessions, { userId, recorded: false, lease: await acquired }));
          },
        );
      } finally {
        await gate.open();
      }
    },
  );

fault(
  'a controller killed with the other one: leases go on, and are renewed as soon as one is back',
  async () => {
    const [one, two] = [await lease({ recorded: true }), await lease()];
    happens();
    await killControllers(await controllers());
    await seesItsPage(one);
    await afterwards('both controllers killed', { sessionsLost: 0 }, () => servesAgain(one, two));
  },
  { always: true },
);

fault(
  'two controllers roll, and are evicted one after the other, without a lost lease or a failed request',
  async () => {
    const held = await lease({ recorded: true });
    const evict = (name: string) =>
      tryKubectl(
        ['create', '--raw', `/api/v1/namespaces/${NAMESPACES.system}/pods/${name}/eviction`, '-f', '-'],
        JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: NAMESPACES.system } }),
      );
    const over = await sessions.acquire({
      ...{ userId: `fault-${randomUUID()}`, conversationId: 'c', recordVideo: false, waitSeconds: 120 },
    });
    await over.end();
    const [first, second] = await controllers();
    let rolling = true;
    const failed: unknown[] = [];
    const others = async () => {
      while (rolling)
        try {
          const other = await sessions.acquire({
            ...{ userId: `fault-${randomUUID()}`, conversationId: 'c', recordVideo: false, waitSeconds: 120 },
          });
          await other.end();
        } catch (error) {
          failed.push(error);
        }
    };
    const use = async () => {
      while (rolling)
        try {
          await serves(held);
        } catch (error) {
          failed.push(error);
        }
    };
    const busy = [others(), use()];
    try {
      expect(await evict(first?.name ?? '')).toMatchObject({ ok: true });
      expect((await evict(second?.name ?? '')).stderr).toContain('disruption budget');
      await waitUntilRunning();
      await kubectl([...inSystem, 'rollout', 'restart', 'deployment/browser-session-controller']);
      await waitUntilRunning();
    } finally {
      rolling = false;
      await Promise.all(busy);
    }
    expect(failed).toEqual([]);
    const client = await eventually('another replica answers for the lease that ended before', () => v2(over));
    expect(await client.call('browser_tabs', { action: 'list' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('The lease has ended: the platform ended it.'),
    });
    await client.close();
    await afterwards('controllers evicted and rolled', { sessionsLost: 0 }, () => serves(held));
  },
);

fault(
  'the kubelet stopped for a while: leases go on, new ones start from the pool',
  async () => {
    const [one, two] = [await lease({ recorded: true }), await lease()];
    await warmRunner();
    await whileStopped('kubelet', async () => {
      const until = performance.now() + AWAY_MS;
      await lease();
      await two.lease.end();
      while (performance.now() < until) await seesItsPage(one);
    });
    heldNow = heldNow.filter(each => each !== two);
    await afterwards('kubelet stopped', { sessionsLost: 0 }, () => serves(one));
  },
  { node: true },
);

fault(
  'the API server stopped for a while: leases go on and are renewed',
  async () => {
    const held = await lease({ recorded: true });
    const userId = `fault-${randomUUID()}`;
    await warmRunner();
    const late = await whileStopped('kube-apiserver', async () => {
      const until = performance.now() + AWAY_MS;
      const started = await sessions.acquire({ userId, conversationId: 'c', recordVideo: false, waitSeconds: 60 });
      while (performance.now() < until) await serves(held);
      return started;
    });
    await afterwards('API server stopped', { sessionsLost: 0 }, async () => {
      await serves(held);
      const started = await holdLease(sessions, { userId, recorded: false, lease: late });
      heldNow.push(started);
      await eventually('its pod is marked as leased', () => leasedOnItsOwn(started), 60_000);
    });
  },
  { node: true },
);

/** Asks until a start fails, and answers why, as the session's row says it: runners of the template before serve first. */
async function failsToStart(): Promise<string> {
  for (let n = 0; n < OTHERS_MAX; n += 1) {
    const userId = `fault-${randomUUID()}`;
    const request = { userId, conversationId: 'c', recordVideo: false, waitSeconds: 0 };
    const refused = await sessions.acquire(request).then(
      found => found.end(),
      (error: unknown) => error,
    );
    if (refused === undefined) continue;
    expect(refused).toMatchObject({ code: 'lease_starting' });
    const started = await eventually(
      'the end of the start',
      async () =>
        (await sessions.list({ userId })).sessions.find(({ status }) => status === 'error' || status === 'ready'),
      150_000,
    );
    if (started.status === 'ready') await sessions.end(started.session_id);
    else {
      expect(started.ended_reason).toBe('runner_start_failed');
      return started.error ?? '';
    }
  }
  throw new Error(`${OTHERS_MAX} starts did not fail`);
}
/** More than runners of the template before. */
const OTHERS_MAX = 6;

/** The pod carries its lease, and hangs no more on the template. */
async function leasedOnItsOwn({ pod, lease: { sessionId } }: Held): Promise<boolean> {
  const { metadata } = JSON.parse(await kubectl([...inRunners, 'get', 'pod', pod.name, '-o', 'json']));
  const owners = metadata.ownerReferences.map(({ kind }: { kind: string }) => kind);
  return metadata.labels[LABELS.sessionId] === sessionId && owners.join() === 'ServiceAccount';
}

fault(
  'a runner out of memory ends its session with that reason, and the next one starts',
  async () => {
    const [held, other] = [await lease({ recorded: true }), await lease()];
    // All its processes are killed at once: of the video there is what was on the disk, cluster by cluster.
    await held.browser.call('browser_wait_for', { time: 4 });
    const [pid = 0] = await processesLike(held.pod.uid, /^node .*runner\/main/);
    await squeezeMemory(pid, 32 * 1024 ** 2);
    const eat = '() => { window.eaten = []; for (;;) window.eaten.push(new Uint8Array(1 << 20).fill(1)); }';
    happens();
    held.browser.evaluate(eat).catch(() => {}); // it ends with its runner
    expect((await losesItsRunner(sessions, held)).error).toMatch(/out of memory \(OOMKilled\)/);
    await afterwards('runner out of memory', { sessionsLost: 1 }, async () => {
      await serves(other);
      await leaseAgain(held);
    });
  },
  { node: true },
);

fault(
  'a browser killed ends its session with a reason, and its video is kept',
  async () => {
    const [held, other] = [await lease({ recorded: true }), await lease()];
    happens();
    kill9(await processesLike(held.pod.uid, /chrom|headless.shell/));
    expect((await losesItsRunner(sessions, held)).error).toMatch(/ended/);
    await afterwards('browser killed', { sessionsLost: 1 }, async () => {
      await serves(other);
      await leaseAgain(held);
    });
  },
  { node: true },
);

fault(
  'a runner that does not answer ends its session within 30 s, which says so, and its video is kept',
  async () => {
    const [held, other] = [await lease({ recorded: true }), await lease()];
    await held.browser.call('browser_wait_for', { time: 4 }); // its video is on the disk, cluster by cluster
    const [pid = 0] = await processesLike(held.pod.uid, /^node .*runner\/main/);
    happens();
    process.kill(pid, 'SIGSTOP');
    expect((await losesItsRunner(sessions, held, 30_000)).error).toMatch(/had not answered over HTTP for \d+ s/);
    await afterwards('runner does not answer', { sessionsLost: 1 }, async () => {
      await serves(other);
      await leaseAgain(held);
    });
  },
  { node: true },
);

fault(
  '[G2] a drained node hibernates its sessions: tabs and logins come back on another runner; until there is a node, a start says what the scheduler says',
  async () => {
    const held = await lease({ recorded: true });
    const node = (await kubectl([...inRunners, 'get', 'pod', held.pod.name, '-o', 'jsonpath={.spec.nodeName}'])).trim();
    await kubectl(['cordon', node]);
    try {
      await hibernatesWith(held, sessions, () =>
        kubectl([
          ...['drain', node, `--pod-selector=${LABELS.app}=${LABELS.runnerApp}`, '--force', '--delete-emptydir-data'],
          ...['--ignore-daemonsets', '--timeout=110s'],
        ]),
      );
      expect(await failsToStart()).toMatch(
        /The pod cannot be scheduled \(Unschedulable\): .*nodes are available.*unschedulable/,
      );
    } finally {
      await kubectl(['uncordon', node]);
    }
    await afterwards('node cordoned and drained', { sessionsLost: 0 }, () => leaseBack(held));
  },
  { always: true },
);

fault(
  'a runner that its kubelet evicts within a second is hibernated, or ends its session with the kubelet’s words',
  async () => {
    const [held, other] = [await lease({ recorded: true }), await lease()];
    await writeIntoVolume(held.pod.uid, 'uploader-tmp', 80 * 1024 ** 2);
    const { status } = await eventually(
      'its lease is over',
      async () => {
        const session = await sessions.get(held.lease.sessionId);
        return session.status !== 'ready' && session;
      },
      180_000,
    );
    const isLost = status !== 'hibernated';
    if (isLost) expect((await losesItsRunner(sessions, held)).error).toMatch(/uploader-tmp.*exceeds the limit/);
    await afterwards('runner evicted by its kubelet', { sessionsLost: isLost ? 1 : 0 }, async () => {
      await serves(other);
      await leaseAgain(held);
    });
  },
  { node: true },
);

fault('the template deleted and recreated collects the warm runners and no leased one', async () => {
  await using _ = await argoPaused();
  const [one, two] = [await lease({ recorded: true }), await lease()];
  for (const held of [one, two]) await eventually('it is marked', () => leasedOnItsOwn(held), 60_000);
  const warm = await rows<{ id: string }>(WARM);
  const template = await kubectl([...inRunners, 'get', 'podtemplate', RUNNER_TEMPLATE, '-o', 'json']);
  await kubectl([...inRunners, 'delete', 'podtemplate', RUNNER_TEMPLATE]);
  try {
    await eventually(
      'warm runners are collected',
      async () => {
        const left = await kubectl([...inRunners, 'get', 'pods', '-o', 'name']);
        return warm.every(({ id }) => !left.includes(id));
      },
      180_000,
    );
    await seesItsPage(one);
  } finally {
    await kubectl(['create', '-f', '-'], withoutIdentity(template));
  }
  await afterwards('template deleted and recreated', { sessionsLost: 0 }, async () => {
    await serves(one, two);
    await lease();
  });
});

fault(
  'the template with an image that cannot be pulled fails starts with the kubelet’s words; refused by a policy that is older, a start is tried again',
  async () => {
    await using _ = await argoPaused();
    const held = await lease();
    const broken = 'localhost/there-is-no-such-image:1';
    const policy = ['get', 'validatingadmissionpolicy', 'runner-pod-image', '-o', 'json'];
    const [policyBefore, templateBefore] = [
      await kubectl(policy),
      await kubectl([...inRunners, 'get', 'podtemplate', RUNNER_TEMPLATE, '-o', 'json']),
    ];
    const image: string = JSON.parse(templateBefore).template.spec.containers[0].image;
    const replace = (text: string) => kubectl(['replace', '-f', '-'], withoutVersion(text));
    let start: Promise<Held> | undefined;
    try {
      await replace(policyBefore.replaceAll(image, broken));
      await replace(templateBefore.replaceAll(image, broken));
      expect(await failsToStart()).toMatch(
        /cannot start \((ErrImagePull|ImagePullBackOff), image localhost\/there-is-no-such-image:1\)/,
      );
      await stillServes(sessions, held);
      await replace(templateBefore);
      start = lease(); // the policy still wants the other image
      const creating = "select id from omicron.runners where state = 'creating'";
      await eventually('runners are asked for', async () => (await rows(creating)).length > 0, 60_000);
      // How far apart a release may apply the two.
      for (const endMs = performance.now() + 3_000; performance.now() < endMs; ) await stillServes(sessions, held);
    } finally {
      await replace(templateBefore);
      await replace(policyBefore);
      await start?.catch(() => {}); // judged below
    }
    const { sessionId } = (await start)?.lease ?? {};
    const kinds = (await sessions.listEvents(sessionId ?? '')).events.map(({ kind }) => kind);
    expect(kinds).toContain('session.ready');
    expect(kinds).not.toContain('session.error'); // waited for, not failed and restarted
    await afterwards('image cannot be pulled', { sessionsLost: 0 }, () => serves(held));
  },
);

const withoutVersion = (text: string): string => {
  const object = JSON.parse(text);
  delete object.metadata.resourceVersion;
  return JSON.stringify(object);
};
const withoutIdentity = (text: string): string => {
  const object = JSON.parse(withoutVersion(text));
  delete object.metadata.uid;
  return JSON.stringify(object);
};

fault(
  'a pod stuck in Terminating blocks nothing: its session gets a new runner, and the old one serves no agent',
  async () => {
    const held = await lease({ recorded: true });
    const finalizers = (list: readonly string[]) =>
      tryKubectl([
        ...[...inRunners, 'patch', 'pod', held.pod.name, '--type=merge'],
        ...['-p', JSON.stringify({ metadata: { finalizers: list } })],
      ]);
    expect(await finalizers(['omicron.dev/stuck'])).toMatchObject({ ok: true });
    try {
      happens();
      await hibernatesWith(held, sessions, () =>
        kubectl([...inRunners, 'delete', 'pod', held.pod.name, '--wait=false']),
      );
      await afterwards('pod stuck in Terminating', { sessionsLost: 0 }, async () => {
        await leaseBack(held);
        const fenced = `select acknowledged_at from omicron.runners where session_id = '${held.lease.sessionId}'
          and epoch = ${held.lease.epoch} and state = 'draining'`;
        expect(await rows(fenced)).toEqual([{ acknowledged_at: expect.any(String) }]);
        expect(await kubectl([...inRunners, 'get', 'pod', held.pod.name, '-o', 'name'])).toContain(held.pod.name);
        await finalizers([]);
      });
    } finally {
      await finalizers([]); // of a test that failed; else it is gone
    }
  },
);

fault(
  'Postgres crashes and comes back: nothing is granted meanwhile, no lease is lost',
  async () => {
    const [one, two] = [await lease({ recorded: true }), await lease()];
    happens();
    // SIGQUIT: an end without a checkpoint, as in a crash
    await tryKubectl([...inFixtures, 'exec', 'deployment/postgres', '--', 'sh', '-c', 'kill -QUIT 1']);
    await seesItsPage(one);
    await afterwards('Postgres crashed', { sessionsLost: 0 }, async () => {
      await servesAgain(one, two);
      await lease();
    });
  },
  { always: true },
);

fault('S3 away for a while: leases go on, and their videos arrive when it is back', async () => {
  const [one, two] = [await lease({ recorded: true }), await lease({ recorded: true })];
  const scale = (replicas: number) => kubectl([...inFixtures, 'scale', 'deployment/s3', `--replicas=${replicas}`]);
  await scale(0);
  try {
    await kubectl([...inFixtures, 'wait', '--for=delete', 'pod', '-l', 'omicron.dev/fixture=s3', '--timeout=60s']);
    await two.lease.end();
    for (const endMs = performance.now() + AWAY_MS / 2; performance.now() < endMs; ) await stillServes(sessions, one);
  } finally {
    await scale(1);
  }
  await kubectl([...inFixtures, 'rollout', 'status', 'deployment/s3', '--timeout=110s']);
  await afterwards('S3 away', { sessionsLost: 0 }, () => serves(one));
});

const chosen = new Set(search.sliceOf(faults.filter(({ always }) => !always)));
for (const each of faults)
  if (each.always || chosen.has(each)) test.runIf(!each.node || onNode)(each.title, LIMIT, each.run);
