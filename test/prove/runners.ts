/** Runners, and their provider's view of them. */
import { randomUUID } from 'node:crypto';
import { type Context, leaseOf, type Process, type World } from './world.ts';

const TOKEN_MS = 24 * 3_600_000;
const STARTED = { mcpUrl: 'http://127.0.0.1:1/mcp', workload: null, prefix: 'p/' };
const MANY_BYTES = 1_000_000_000;

export const newProcess = (id: string): Process => ({
  id,
  boot: randomUUID(),
  key: randomUUID(),
  phase: 'launching',
  job: null,
  mail: null,
  ownUntilMs: 0,
  base: 0,
  profileId: null,
  saving: null,
});

/** The next step of a runner's process. */
export async function run(world: World, context: Context, process: Process, n: number, lost: boolean): Promise<void> {
  world.readsClock(process);
  if (process.phase === 'launching') return comeUp(world, context, process, lost);
  if (process.phase === 'fresh') {
    if (process.mail === null) return;
    Object.assign(process, { phase: 'redeeming', job: process.mail });
    return redeem(world, context, process, n, lost);
  }
  if (process.phase === 'redeeming') return redeem(world, context, process, n, lost);
  if (process.phase === 'open') return report(world, context, process, n % 3, lost);
  if (process.phase === 'closed') return acknowledge(world, context, process);
}

async function comeUp(world: World, context: Context, process: Process, lost: boolean): Promise<void> {
  const about = { runner: process.id, boot: process.boot };
  const up = await world.send(context, 'up', about, ({ fleet }) =>
    fleet.markUp(process.id, process.boot, 'http://127.0.0.1:1'),
  );
  if (up === undefined || lost) return;
  process.phase = up === null ? 'dead' : 'fresh';
}

async function redeem(world: World, context: Context, process: Process, n: number, lost: boolean): Promise<void> {
  const { job, key } = process;
  if (job === null) return;
  const askedAtMs = world.nowMs();
  const claims = { ...leaseOf(process), claim_id: job.claim, boot_id: job.boot, user_id: job.user };
  // the process that leads the start answers the redemption, and nothing is restored
  const leads = world.callers.some(each => each.claim === job.claim) && !job.profile && n % 2 === 0;
  const restores = world.setup.hibernates;
  const ready = leads && !restores ? STARTED : undefined;
  const about = { session: job.session, epoch: job.epoch, claim: job.claim, boot: job.boot, runner: process.id };
  const answer = await world.send(context, 'redeem', about, ({ broker }) =>
    broker.redeem(claims, world.nowMs() + TOKEN_MS, { key, ready }),
  );
  if (answer === undefined || lost || answer.outcome === 'wait' || process.phase !== 'redeeming') return;
  if (answer.outcome === 'refused') {
    process.phase = 'closed';
    return;
  }
  world.told(process, answer.remainingMs, askedAtMs);
  process.phase = 'open';
  if (context.raced) return;
  if (answer.restores) {
    const snapshot = await world.call(context, 'snapshot', about, ({ hibernations }) =>
      hibernations.ofStart(leaseOf(process)),
    );
    if (snapshot === null) process.phase = 'closed'; // the claim is over meanwhile
  }
  const content = await world.call(context, 'profile', about, ({ profiles }) => profiles.ofLease(leaseOf(process)));
  process.base = content?.version ?? 0;
  process.profileId = content?.id ?? null;
}

/** A thief redeems with the assignment of this process, and does not have its key. */
export async function steal(world: World, context: Context, process: Process): Promise<void> {
  const { job } = process;
  if (job === null) return;
  const claims = { ...leaseOf(process), claim_id: job.claim, boot_id: job.boot, user_id: job.user };
  const about = { session: job.session, epoch: job.epoch, claim: job.claim, boot: job.boot, runner: process.id };
  await world.call(context, 'redeem', about, ({ broker }) =>
    broker.redeem(claims, world.nowMs() + TOKEN_MS, { key: randomUUID() }),
  );
}

/** Reports calls, or only asks; learns that its lease is over. */
async function report(world: World, context: Context, process: Process, calls: number, lost: boolean): Promise<void> {
  const { job } = process;
  if (job === null || process.saving !== null) return; // calls wait for the answer of the hibernation
  const askedAtMs = world.nowMs();
  const about = { session: job.session, epoch: job.epoch, runner: process.id, calls };
  const answer = await world.send(context, 'report', about, ({ broker }) =>
    broker.reportActivity(leaseOf(process), calls),
  );
  if (answer === undefined || lost) return;
  if (answer === null) process.phase = 'closed';
  else world.told(process, answer.remainingMs, askedAtMs);
}

/** It has closed: says that it saves no more, and that it serves no agent. */
async function acknowledge(world: World, context: Context, process: Process): Promise<void> {
  const about = { runner: process.id, session: process.job?.session, epoch: process.job?.epoch };
  if (process.job?.profile === true && !context.raced)
    await world.send(context, 'done', about, ({ profiles }) => profiles.release(leaseOf(process)));
  await world.send(context, 'acknowledge', about, ({ fleet }) => fleet.markAcknowledged(process.id));
  process.phase = 'dead';
}

/** Any runner that ever had the profile, however late. */
export async function save(world: World, context: Context, process: Process): Promise<void> {
  const { id, base, profileId } = process;
  if (profileId === null) return;
  const about = { runner: id, base };
  const object = randomUUID();
  const over = { profileId, base, runner: id };
  const begun = await world.call(context, 'write', about, ({ profiles }) =>
    profiles.begin(over, [{ object, bytes: 1 }], MANY_BYTES),
  );
  if (begun !== null) return;
  const content = { form: 'light' as const, digest: '', chunks: [], domains: [] };
  const refusal = await world.send(context, 'save', about, ({ profiles }) =>
    profiles.commit({ ...over, object, bytes: 1 }, content),
  );
  if (refusal === null) process.base += 1;
}

/** First reads the browser, then brings what it read; anything may happen in between. */
export async function hibernate(world: World, context: Context, process: Process, n: number): Promise<void> {
  world.readsClock(process);
  const { job, saving } = process;
  if (!world.setup.hibernates || job === null || process.phase !== 'open') return;
  const lease = leaseOf(process);
  if (saving === null) {
    const idleSeconds = [0, 0, 0, 0, 5, 20][n % 6] ?? 0;
    const begun = await world.call(context, 'beginHibernation', { session: job.session }, ({ hibernations }) =>
      hibernations.begin(lease, idleSeconds),
    );
    if (begun === undefined || 'code' in begun) return;
    const object = randomUUID();
    const over = { profileId: begun.id, base: begun.version, runner: process.id };
    await world.call(context, 'write', { runner: process.id }, ({ profiles }) =>
      profiles.begin(over, [{ object, bytes: 1 }], MANY_BYTES),
    );
    process.saving = { profileId: begun.id, base: begun.version, object, idleSeconds };
    return;
  }
  process.saving = null;
  const { profileId, base, object, idleSeconds } = saving;
  const about = { session: job.session, epoch: job.epoch, runner: process.id, base, idleMs: idleSeconds * 1_000 };
  const kept = { why: 'capacity' as const, idleSeconds, keepSeconds: 3_600, digest: '', tabs: 1 };
  const refusal = await world.send(context, 'hibernate', about, ({ hibernations }) =>
    hibernations.commit(lease, { profileId, base, runner: process.id, object, bytes: 1 }, kept),
  );
  if (refusal !== null) return;
  process.phase = 'closed';
  world.asleep.push({ user: job.user, conversation: job.conversation });
}

/** The provider has seen a process end, or that it is about to. */
export async function lose(world: World, context: Context, process: Process): Promise<void> {
  const how = process.phase === 'dead' ? 'ended' : process.phase === 'launching' ? 'not_started' : 'leaving';
  if (how === 'not_started') process.phase = 'dead';
  await world.send(context, 'lost', { runner: process.id, how }, ({ fleet }) =>
    fleet.markLost(process.id, how, 'runner_lost', 'It was not heard of.'),
  );
}
