import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { waitUntilRunning } from '../../cluster/deploy.ts';
import { type Ingress, openIngress } from '../../cluster/ingress.ts';
import { kubectl, tryKubectl } from '../../cluster/kubectl.ts';
import { NAMESPACES } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import { rows } from './database.ts';
import { type FaultRow, faultRow } from './fault-row.ts';
import { type FaultLine, report } from './fault-table.ts';
import { type Held, hibernatesWith, hold, losesItsRunner } from './held.ts';
import { kill9, onNode, processesLike, squeezeMemory, writeIntoVolume } from './node-faults.ts';
import { noOrphans } from './orphans.ts';

// Faults of one pod, side by side where no second counts: each has a lease of its own, and none reaches another pod. Faults of
// what pods share: faults.test.ts.

const inRunners = ['-n', NAMESPACES.runners] as const;
/** Nothing is measured against these: a slow machine only takes longer. */
const LIMIT = { timeout: 300_000 };

const lines: Omit<FaultLine, 'orphans'>[] = [];
let ingress: Ingress;
let sessions: BrowserSessions;
/** Its pod has no fault: it serves after each one. */
let other: Held;

beforeAll(async () => {
  ingress = await openIngress();
  sessions = new BrowserSessions(ingress);
  await waitUntilRunning();
  await noOrphans();
  other = await hold(sessions);
}, 200_000);
afterAll(async () => {
  await other.lease.end().catch(() => {}); // of a test that failed
  ingress.close();
});

/** A test whose leases end with it. */
const withRow = (work: (row: FaultRow) => Promise<void>) => async () => {
  const row = faultRow(sessions);
  await work(row).finally(() => row.endAll());
};

/** The line of one fault: the other lease serves, a lost one starts again, then its leases end. */
async function afterwards(row: FaultRow, fault: string, sessionsLost: number, heal: () => Promise<unknown>) {
  const line = await row.heals(fault, async () => {
    await row.serves(other);
    await heal();
  });
  lines.push({ ...line, sessions: line.sessions + 1 });
  expect(line).toMatchObject({ videosLost: 0, sessionsLost });
}

describe.concurrent('a fault of one pod', () => {
  test.runIf(onNode)(
    'a runner out of memory ends its session with that reason, and the next one starts',
    LIMIT,
    withRow(async row => {
      const held = await row.lease({ recorded: true });
      // All its processes are killed at once: of the video there is what was on the disk, cluster by cluster.
      await held.browser.call('browser_wait_for', { time: 4 });
      const [pid = 0] = await processesLike(held.pod.uid, /^node .*runner\/main/);
      await squeezeMemory(pid, 32 * 1024 ** 2);
      const eat = '() => { window.eaten = []; for (;;) window.eaten.push(new Uint8Array(1 << 20).fill(1)); }';
      row.happens();
      held.browser.evaluate(eat).catch(() => {}); // it ends with its runner
      expect((await losesItsRunner(sessions, held)).error).toMatch(/out of memory \(OOMKilled\)/);
      await afterwards(row, 'runner out of memory', 1, () => row.leaseAgain(held));
    }),
  );

  test.runIf(onNode)(
    'a browser killed ends its session with a reason, and its video is kept',
    LIMIT,
    withRow(async row => {
      const held = await row.lease({ recorded: true });
      row.happens();
      kill9(await processesLike(held.pod.uid, /chrom|headless.shell/));
      expect((await losesItsRunner(sessions, held)).error).toMatch(/ended/);
      await afterwards(row, 'browser killed', 1, () => row.leaseAgain(held));
    }),
  );

  test.runIf(onNode)(
    'a runner that does not answer ends its session within 30 s, which says so, and its video is kept',
    LIMIT,
    withRow(async row => {
      const held = await row.lease({ recorded: true });
      await held.browser.call('browser_wait_for', { time: 4 }); // its video is on the disk, cluster by cluster
      const [pid = 0] = await processesLike(held.pod.uid, /^node .*runner\/main/);
      row.happens();
      process.kill(pid, 'SIGSTOP');
      expect((await losesItsRunner(sessions, held, 30_000)).error).toMatch(/had not answered over HTTP for \d+ s/);
      await afterwards(row, 'runner does not answer', 1, () => row.leaseAgain(held));
    }),
  );

  test(
    'a pod stuck in Terminating blocks nothing: its session gets a new runner, and the old one serves no agent',
    LIMIT,
    withRow(async row => {
      const held = await row.lease({ recorded: true });
      const finalizers = (list: readonly string[]) =>
        tryKubectl([
          ...[...inRunners, 'patch', 'pod', held.pod.name, '--type=merge'],
          ...['-p', JSON.stringify({ metadata: { finalizers: list } })],
        ]);
      expect(await finalizers(['omicron.dev/stuck'])).toMatchObject({ ok: true });
      try {
        row.happens();
        await hibernatesWith(held, sessions, () =>
          kubectl([...inRunners, 'delete', 'pod', held.pod.name, '--wait=false']),
        );
        await afterwards(row, 'pod stuck in Terminating', 0, async () => {
          await row.leaseBack(held);
          const fenced = `select acknowledged_at from omicron.runners where session_id = '${held.lease.sessionId}'
            and epoch = ${held.lease.epoch} and state = 'draining'`;
          expect(await rows(fenced)).toEqual([{ acknowledged_at: expect.any(String) }]);
          expect(await kubectl([...inRunners, 'get', 'pod', held.pod.name, '-o', 'name'])).toContain(held.pod.name);
          await finalizers([]);
        });
      } finally {
        await finalizers([]); // of a test that failed; else it is gone
      }
    }),
  );
});

// By itself: its runner has one second to save what it has, which the start of other browsers would take.
test.runIf(onNode)(
  'a runner that its kubelet evicts within a second is hibernated, or ends its session with the kubelet’s words',
  LIMIT,
  withRow(async row => {
    const held = await row.lease({ recorded: true });
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
    await afterwards(row, 'runner evicted by its kubelet', isLost ? 1 : 0, () => row.leaseAgain(held));
  }),
);

test('after all of them, cluster and database agree', LIMIT, async () => {
  await other.browser[Symbol.asyncDispose]();
  await other.lease.end();
  const left = await noOrphans();
  report(
    lines.map(line => ({ ...line, orphans: left })),
    '.omicron/pod-faults.json',
  );
  expect(left).toBe(0);
});
