/**
 * The cost of a lease: `npm run bench [-- --rounds 50]`. Acquire, connect, goto and release on the local stack, with one client
 * and with ten, beside `@playwright/mcp` spawned per session with the same browser; the parts of an acquire; the memory of an
 * idle session; renewals per second on Postgres. Writes `.omicron/bench.json`.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { BrowserSessions } from '../../client/browser-sessions.ts';
import { ENV } from '../../contract/names.ts';
import { startDemoSite } from '../../local/demo-site.ts';
import { findTools } from '../../local/machine-tools.ts';
import { connectMcpBrowser } from '../../local/mcp-browser.ts';
import { countWarmRunners } from '../../local/warm-runners.ts';
import { newFolder, runnerPids } from '../local/machine.ts';
import { startPostgresServer } from '../postgres-server.ts';
import { acquireParts } from './acquire-parts.ts';
import { machine, ratio, versions, writeSections } from './figures.ts';
import { pssMb } from './memory.ts';
import { renewalsPerSecond } from './renewals.ts';
import { leased, measure, type Stages, spawned } from './rounds.ts';
import { type TimedStack, timedStack } from './timed-stack.ts';

const TARGETS = {
  firstPageRatio: 8,
  acquireP50Ms: 10,
  acquireToPlainGet: 6,
  firstPageP50Ms: 60,
  acquireClients10P95ToP50: 2,
  renewPerSecond: 2_000,
  idleSessionPssMb: 350,
};
/** A session's memory settles after its page was opened. */
const SETTLE_MS = 5_000;
const RENEW = { leases: 6, callers: 32, seconds: 8 };

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    /** Sections, by comma: rounds, parts, memory, renew. */
    only: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const wanted = (section: string) => values.only === undefined || values.only.split(',').includes(section);
const progress = (line: string) => process.stderr.write(`${line}\n`);

const { browser } = findTools(process.env);
if (browser === undefined) throw new Error('no browser: run this with "npm run bench"');
const serviceSecret = randomBytes(32).toString('base64');
const keys = {
  [ENV.serviceSecret]: serviceSecret,
  [ENV.signingKey]: JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })),
  [ENV.derivationKey]: randomBytes(32).toString('base64'),
  [ENV.secretFileKey]: randomBytes(32).toString('base64'),
  [ENV.egressSecret]: randomBytes(32).toString('base64'),
};

/** Runs `work` on a stack that keeps `poolIdle` runners warm. */
async function onStack<T>(
  poolIdle: number,
  databaseUrl: string | null,
  work: (stack: TimedStack, sessions: BrowserSessions, folder: string) => Promise<T>,
): Promise<T> {
  const folder = await newFolder();
  const stack = await timedStack(folder, databaseUrl, { ...keys, [ENV.poolIdle]: String(poolIdle) });
  try {
    return await work(stack, new BrowserSessions({ url: stack.url, serviceSecret }), folder);
  } finally {
    await stack.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function local(clients: number, url: string): Promise<Stages> {
  const poolIdle = Math.max(2, clients);
  return onStack(poolIdle, null, (stack, sessions) =>
    measure(
      leased(sessions, () => countWarmRunners(stack.url), poolIdle),
      { rounds, clients, url },
    ),
  );
}

const sections: Record<string, unknown> = { machine: machine(), versions: versions(browser) };
const site = await startDemoSite();
try {
  if (wanted('rounds')) {
    const stages: Record<string, Record<string, Stages>> = { local: {}, spawned: {}, spawnedByNode: {} };
    const ratios: Record<string, number> = {};
    for (const clients of [1, 10]) {
      const name = `clients${clients}`;
      const contend = async (who: string, work: () => Promise<Stages>): Promise<Stages> => {
        progress(`${who}, ${clients} at a time ...`);
        const measured = await work();
        stages[who] = { ...stages[who], [name]: measured };
        return measured;
      };
      const ours = await contend('local', () => local(clients, site.url));
      const round = { rounds, clients, url: site.url };
      const npx = await contend('spawned', () => measure(spawned(browser, 'npx'), round));
      const node = await contend('spawnedByNode', () => measure(spawned(browser, 'node'), round));
      const suffix = clients === 1 ? '' : `Clients${clients}`;
      const toOurs = (other: Stages) => ratio(other.firstPageMs.p50, ours.firstPageMs.p50);
      ratios[`firstPage${suffix}`] = toOurs(npx);
      ratios[`firstPageByNode${suffix}`] = toOurs(node);
      ratios[`acquire${suffix}P95ToP50`] = ratio(ours.acquireMs.p95, ours.acquireMs.p50);
    }
    Object.assign(sections, stages, { ratios });
  }
  if (wanted('parts')) {
    progress('parts of an acquire ...');
    sections.acquireParts = await onStack(2, null, (stack, sessions) =>
      acquireParts(stack, sessions, {
        rounds,
        prepare: () => leased(sessions, () => countWarmRunners(stack.url), 2).prepare(1),
      }),
    );
  }
  if (wanted('memory')) {
    progress('memory of an idle session ...');
    sections.idleSessionPssMb = await onStack(0, null, async (_stack, sessions, folder) => {
      const lease = await sessions.acquire({ userId: 'memory', conversationId: 'c', recordVideo: false });
      await using connected = await connectMcpBrowser(lease);
      await connected.call('browser_navigate', { url: site.url });
      await new Promise(resolve => setTimeout(resolve, SETTLE_MS));
      const [runner] = await runnerPids(folder);
      return pssMb(runner ?? 0);
    });
  }
  if (wanted('renew')) {
    progress('renewals per second on Postgres ...');
    const postgres = await startPostgresServer(); // its defaults: commits reach the disk
    try {
      sections.renewPerSecond = await onStack(0, `${postgres.url}/postgres`, async (stack, sessions) => {
        const conversations = Array.from({ length: RENEW.leases }, (_, n) => ({
          userId: `u${n}`,
          conversationId: 'c',
        }));
        for (const each of conversations) await sessions.acquire({ ...each, recordVideo: false });
        return renewalsPerSecond({ url: stack.url, serviceSecret, conversations, ...RENEW });
      });
    } finally {
      await postgres.stop();
    }
  }
} finally {
  await site.close();
}
const file = writeSections(sections);
process.stdout.write(`${JSON.stringify({ ...sections, targets: TARGETS }, null, 2)}\n`);
progress(`written to ${file}`);
