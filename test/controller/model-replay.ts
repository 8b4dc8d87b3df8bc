/**
 * Takes walks through the model and does each step with the SQL functions too: what the model repeats by hand must be what
 * they do. Time is the model's. A walk takes less than a tick; after each step the rows get the times that
 * the model gives them, once what the step wrote was compared.
 */
import { randomUUID } from 'node:crypto';
import type { Database } from '../../controller/ports/database.ts';
import { sqlBroker } from '../../controller/store/broker.ts';
import { sqlFleet } from '../../controller/store/fleet.ts';
import { sqlHibernations } from '../../controller/store/hibernations.ts';
import { type StartedLease, sqlLeases } from '../../controller/store/leases.ts';
import { sqlMaintenance } from '../../controller/store/maintenance.ts';
import { sqlProfiles } from '../../controller/store/profiles.ts';
import { judgeRedeem, lineTurns } from '../model/database.ts';
import { kindOf, type Step } from '../model/explore.ts';
import { leaseProtocol } from '../model/protocol.ts';
import { callerAt, type Runner, runnerAt, type State, sessionAt } from '../model/state.ts';
import { TICKS, type World } from '../model/world.ts';
import { randomOf } from '../search.ts';
import { READY } from './protocol.ts';

const TICK_SECONDS = 1_000;

/** The parts of a step's name: `claim caller0 s1 with r2 (warm)`. */
const named = (name: string) => {
  const number = (pattern: RegExp): number => Number(pattern.exec(name)?.[1] ?? Number.NaN);
  return {
    kind: kindOf(name),
    caller: number(/caller(\d)/),
    session: number(/\bs(\d)/),
    epoch: number(/\be(\d)/),
    place: number(/\br(\d)/),
  };
};

/** A difference between the model and the functions; the message is the walk that shows it. */
export class Drift extends Error {}

interface SessionSeen {
  id: string;
  status: 'over' | 'starting' | 'ready' | 'hibernated';
  saved: boolean;
  epoch: number;
  claim_id: string | null;
  claim_left: number;
  start_left: number;
  left: number;
}

interface RunnerSeen {
  id: string;
  state: Runner['state'];
  session_id: string | null;
  epoch: number | null;
  boot_id: string | null;
  assigned: boolean;
  redeemed: boolean;
  acked: boolean;
  deadline: number;
}

/** Goes through the model by chance: `steps` steps, and after `length` of them from its start again. */
export function* walk(
  world: World,
  { seed, steps, length }: { seed: number; steps: number; length: number },
): Generator<{ state: State; step: Step<State>; first: boolean }> {
  const model = leaseProtocol(world);
  const random = randomOf(seed);
  const kinds = new Map<string, number>();
  let state = model.initial;
  for (let taken = 0; taken < steps; taken++) {
    const first = taken % length === 0;
    if (first) state = model.initial;
    const step = choose(
      model.steps(state).filter(({ name }) => isReplayable(state, name)),
      kinds,
      random,
    );
    if (step === undefined) throw new Error('the model has come to an end');
    kinds.set(kindOf(step.name), (kinds.get(kindOf(step.name)) ?? 0) + 1);
    yield { state, step, first };
    state = step.next;
  }
}

/** Takes a walk in the database too. Throws a `Drift` at the first difference; answers how often each kind was taken. */
export async function replay(
  database: Database,
  world: World,
  way: { seed: number; steps: number; length: number },
): Promise<Map<string, number>> {
  const kinds = new Map<string, number>();
  let rows = await rowsOf(database, world);
  let trace: string[] = [];
  for (const { state, step, first } of walk(world, way)) {
    if (first) {
      rows = await rowsOf(database, world);
      trace = [];
    }
    trace.push(step.name);
    kinds.set(kindOf(step.name), (kinds.get(kindOf(step.name)) ?? 0) + 1);
    const differences = await rows.follow(state, step);
    if (differences.length > 0) throw new Drift([...trace, ...differences.map(each => `  ${each}`)].join('\n'));
  }
  return kinds;
}

/** Steps that end a lease or a runner: seldom, or no walk would get as far as a ready lease. */
const SELDOM = new Set([
  ...['givesUp', 'forget', 'DELETE', 'fail', 'dies', 'lost', 'suspected', 'drained'],
  ...['hangsUp', 'goesAway', 'vanishes'],
]);

/** A step by chance; one of a kind that was often taken has less of it. */
function choose(
  steps: readonly Step<State>[],
  kinds: ReadonlyMap<string, number>,
  random: () => number,
): Step<State> | undefined {
  const weights = steps.map(({ name }) => {
    const kind = kindOf(name);
    return (SELDOM.has(kind) || name.startsWith('pool drains') ? 0.1 : 1) / (1 + (kinds.get(kind) ?? 0));
  });
  let left = random() * weights.reduce((sum, weight) => sum + weight, 0);
  return steps.find((_, index) => {
    left -= weights[index] ?? 0;
    return left < 0;
  });
}

/**
 * Steps in which the model allows more than the functions do. It takes any runner for a claim; they prefer a warm one, then one that
 * is being created. A start whose time is over while its claim lives may go on in the model; for them it has expired.
 */
function isReplayable(state: State, name: string): boolean {
  const { kind, session } = named(name);
  if (state.sessions.some(row => row.status === 'starting' && row.redeemed && row.left === 0))
    return kind === 'stuck' || kind === 'fail' || kind === 'DELETE' || kind === 'gone' || kind === 'removed';
  if (kind === 'beat' && sessionAt(state, session).startLeft === 0) return false;
  if (kind !== 'claim') return true;
  const free = (row: Runner['state']) => state.runners.some(runner => runner.state === row && runner.session < 0);
  if (free('warm')) return name.includes('(warm)');
  return !free('creating') || name.includes('(creating)');
}

async function rowsOf(database: Database, world: World) {
  const seconds = (ticks: number) => ticks * TICK_SECONDS;
  const leases = sqlLeases(database, {
    userLimit: world.quota,
    onUserLimit: 'reject',
    maxSessionSeconds: seconds(100),
    claimSeconds: seconds(TICKS.claim),
    startSeconds: seconds(TICKS.start),
    hibernate: 'never',
    keepFiles: 'none',
  });
  const fleet = sqlFleet(database);
  const broker = sqlBroker(database);
  const profiles = sqlProfiles(database);
  const hibernations = sqlHibernations(database);
  const maintenance = sqlMaintenance(database, { startSeconds: seconds(TICKS.start) });

  await database.script(
    'truncate omicron.browser_sessions, omicron.runners, omicron.permits, omicron.waiting_callers cascade',
  );
  await maintenance.setCapacity(world.permits);
  const claimIds: string[] = Array.from({ length: world.callers }, () => randomUUID());
  const sessionIds: (string | undefined)[] = [];
  /** By place: the row that stands there now, and the ids of its boots. */
  const runnerIds: (string | undefined)[] = [];
  const boots = new Map<string, string>();
  const bootOf = (place: number, boot: number): string => {
    const key = `${runnerIds[place]} ${boot}`;
    const id = boots.get(key) ?? randomUUID();
    boots.set(key, id);
    return id;
  };
  const runnerId = (place: number) => runnerIds[place] ?? '';
  const sessionId = (index: number) => sessionIds[index] ?? '';
  const endpoint = 'http://127.0.0.1:1';

  for (let place = 0; place < world.warm; place++) {
    await fleet.plan('local', 't', place + 1, 1);
    runnerIds[place] = await newRunner();
    await fleet.markUp(runnerId(place), bootOf(place, 1), endpoint);
  }

  async function newRunner(): Promise<string | undefined> {
    const rows = await fleet.living('local');
    return rows.find(({ id }) => !runnerIds.includes(id))?.id;
  }

  /** By session: the place of its row in the line, as the last answer named it. */
  const places: string[] = [];
  const acquire = (caller: number, session: number, waits = false) =>
    leases.acquire({
      request: {
        user_id: 'ada',
        conversation_id: `c${session}`,
        ttl_seconds: seconds(TICKS.lease),
        record_video: false,
        credentials: true,
        profile_mode: 'read-write',
        profile_form: 'light',
        profile_tabs: false,
        profile_switch: false,
      },
      claimId: claimIds[caller] ?? '',
      abandonClaimId: null,
      unhibernated: null,
      provider: 'local',
      template: 't',
      namespace: 'local',
      waits,
    });
  const redeem = (place: number, { session, epoch, claim, boot }: NonNullable<Runner['job']>, ready?: StartedLease) =>
    broker.redeem(
      {
        session_id: sessionId(session),
        epoch,
        claim_id: claimIds[claim - 1] ?? '',
        runner_id: runnerId(place),
        boot_id: bootOf(place, boot),
        user_id: 'ada',
      },
      Date.now() + 60_000,
      { key: runnerId(place), ready },
    );
  /** The pool's plan counts runners; these are the ones it counts. */
  const unreserved = (state: State) =>
    state.runners.filter(({ state: row, session }) => session < 0 && (row === 'warm' || row === 'creating')).length;
  const reserved = (state: State) =>
    state.runners.filter(({ state: row, session }) => session >= 0 && row === 'creating').length;
  /** The functions choose by age: this one is chosen. */
  const first = (place: number, age: 'oldest' | 'newest') =>
    database.query(
      `update omicron.runners set warm_at = clock_timestamp() - make_interval(mins => case when id = $1 then $2::int else $3::int end),
              created_at = clock_timestamp() - make_interval(mins => case when id = $1 then $2::int else $3::int end)`,
      [runnerIds[place] ?? randomUUID(), age === 'oldest' ? 60 : 2, age === 'oldest' ? 2 : 60],
    );
  /** A loop takes any session whose time is over: meanwhile that of the others is far ahead. */
  const alone = async <Answer>(session: number, work: () => Promise<Answer>): Promise<Answer> => {
    const shift = (sign: '+' | '-') =>
      database.script(`
        update omicron.browser_sessions set expires_at = expires_at ${sign} interval '100 days', ends_at = ends_at ${sign} interval '100 days',
               starting_since = starting_since ${sign} interval '100 days'
         where id <> '${sessionId(session)}' and status in ('starting', 'ready', 'hibernated');
        update omicron.runners set launched_at = launched_at ${sign} interval '100 days' where session_id <> '${sessionId(session)}';`);
    await shift('+');
    const answer = await work();
    await shift('-');
    return answer;
  };
  const given = (outcome: boolean) => (outcome ? 'given' : 'refused');

  /** Does a step with the functions. Answers what they said, and what the model says to that; null: it is none of theirs. */
  async function act(state: State, { name, next }: Step<State>): Promise<[seen: unknown, expected: unknown] | null> {
    const { kind, caller, session, epoch, place } = named(name);
    const claim = { sessionId: sessionId(session), epoch, claimId: claimIds[caller] ?? '' };
    switch (kind) {
      case 'acquire':
        return [(await acquire(caller, session)).outcome, name.includes('renews') ? 'renewed' : 'claimed'];
      case 'refuse': {
        const { outcome } = await acquire(caller, session);
        if (callerAt(state, caller).phase === 'waiting') await leases.leaveLine(places[session] ?? '0', false);
        return [outcome, 'refused'];
      }
      case 'joins':
      case 'turned':
      case 'crowded': {
        const answer = await acquire(caller, session, kind === 'joins');
        if (answer.outcome !== 'refused') return [answer.outcome, 'refused'];
        if (kind === 'crowded') return [answer.code, 'user_quota_exceeded'];
        places[session] = answer.place ?? '';
        const turn = next.line.findIndex(row => row.session === session);
        return [
          [answer.code, answer.turn],
          ['capacity_exceeded', turn],
        ];
      }
      case 'hangsUp':
      case 'goesAway':
        await leases.leaveLine(places[session] ?? '0', kind === 'goesAway');
        return [null, null];
      case 'claim':
      case 'inherit': {
        await first(place, 'oldest');
        const acquired = await acquire(caller, session);
        if (acquired.outcome !== 'claimed') return [acquired.outcome, 'claimed'];
        sessionIds[session] = acquired.session.id;
        if (runnerAt(state, place).state === 'none') runnerIds[place] = await newRunner();
        return [acquired.runner.id, runnerId(place)];
      }
      case 'beat':
        return [await leases.beat(claim), true];
      case 'fail': {
        const row = sessionAt(state, session);
        const mine = row.status === 'starting' && row.epoch === epoch && row.claim === caller + 1;
        return [await leases.fail(claim, 'runner_start_failed', 'gave up'), mine];
      }
      case 'beginAssign': {
        const begun = runnerAt(next, place).assigned;
        return [(await leases.beginAssignment(claim)) !== null, begun];
      }
      case 'ready': {
        const ready = await leases.makeReady(claim, READY);
        const row = sessionAt(next, session);
        return [
          ready !== null,
          row.status === 'ready' && row.epoch === epoch && row.claim === caller + 1 && row.left > 0,
        ];
      }
      case 'DELETE':
        return [(await leases.end(sessionId(session), null, epoch, 'released')).outcome, 'ended'];
      case 'heartbeat':
        return [(await leases.heartbeat(sessionId(session), null, epoch)).outcome, 'renewed'];
      case 'redeem':
      case 'refused': {
        const { job } = runnerAt(state, place);
        if (job === null) throw new Error(`${name} has no assignment`);
        return [(await redeem(place, job)).outcome, kind === 'redeem' ? 'redeemed' : 'refused'];
      }
      case 'redeemReady': {
        const { job } = runnerAt(state, place);
        if (job === null) throw new Error(`${name} has no assignment`);
        const redeemed = await redeem(place, job, READY);
        return [redeemed.outcome === 'redeemed' && redeemed.session?.status, 'ready'];
      }
      case 'activity': {
        const { job } = runnerAt(state, place);
        if (job === null) throw new Error(`${name} has no lease`);
        const lease = { session_id: sessionId(job.session), epoch: job.epoch, runner_id: runnerId(place) };
        const told = await broker.reportActivity(lease, name.includes('only asks') ? 0 : 1);
        return [given(told !== null), given(runnerAt(next, place).phase === 'open')];
      }
      case 'acknowledged':
        await fleet.markAcknowledged(runnerId(place));
        return [null, null];
      case 'hibernate': {
        const lease = { session_id: sessionId(session), epoch, runner_id: runnerId(place) };
        const begun = await hibernations.begin(lease, TICK_SECONDS);
        if ('code' in begun) return [begun.code, 'hibernated'];
        const save = {
          profileId: begun.id,
          base: begun.version,
          runner: runnerId(place),
          object: randomUUID(),
          bytes: 1,
        };
        await profiles.begin(save, [save], 1_000_000);
        const how = {
          why: 'capacity',
          idleSeconds: TICK_SECONDS,
          keepSeconds: seconds(100),
          digest: '',
          tabs: 0,
        } as const;
        return [(await hibernations.commit(lease, save, how))?.code ?? 'hibernated', 'hibernated'];
      }
      case 'forget':
        await database.query(
          `update omicron.browser_sessions set expires_at = clock_timestamp() - interval '1 second' where id = $1`,
          [sessionId(session)],
        );
        return [await maintenance.expire(1), [sessionId(session)]];
      case 'stuck':
        return [await alone(session, () => maintenance.failStuckStarts(1)), [sessionId(session)]];
      case 'expire':
        return [await alone(session, () => maintenance.expire(1)), [sessionId(session)]];
      case 'pool': {
        const [idle, awaited] = [unreserved(state), reserved(state)];
        if (name.includes('orders')) {
          const written = await fleet.plan('local', 't', idle + 1, awaited + 1);
          runnerIds[place] = await newRunner();
          return [written, 1];
        }
        await first(place, 'newest');
        return [await fleet.plan('local', 't', idle - 1, 0), 0];
      }
      case 'up': {
        const up = await fleet.markUp(runnerId(place), bootOf(place, runnerAt(state, place).processBoot), endpoint);
        return [up, runnerAt(next, place).state];
      }
      case 'lost':
      case 'suspected': {
        const { session: index, epoch: held } = runnerAt(state, place);
        const row = index < 0 ? undefined : sessionAt(state, index);
        const live = row !== undefined && row.epoch === held && row.status !== 'over';
        const how = kind === 'lost' ? 'ended' : 'leaving';
        const outcome = await fleet.markLost(runnerId(place), how, 'runner_lost', 'It died.');
        const expired = row?.status === 'ready' && row.left === 0;
        return [outcome, live ? (expired ? 'expired' : 'lost') : 'nothing'];
      }
      case 'gone':
        await fleet.markGone(runnerId(place));
        return [null, null];
      default:
        return null; // on the wire, in a process, at the provider, or time
    }
  }

  const look = async () => {
    const ticks = (time: string) =>
      `greatest(0, ceil(extract(epoch from ${time} - clock_timestamp()) / ${TICK_SECONDS}))::int`;
    const sessions = await database.query<SessionSeen>(
      `select id, case when status in ('ended', 'error') then 'over' else status end as status, epoch, claim_id,
              hibernated_until is not null as saved,
              coalesce(${ticks('claim_until')}, 0) as claim_left, ${ticks('expires_at')} as left,
              coalesce(${ticks(`(starting_since + make_interval(secs => ${seconds(TICKS.start)}))`)}, 0) as start_left
         from omicron.browser_sessions`,
    );
    const runners = await database.query<RunnerSeen>(
      `select id, state, session_id, epoch, boot_id, assigned_at is not null as assigned, redeemed_at is not null as redeemed,
              acknowledged_at is not null as acked, coalesce(${ticks('deadline_at')}, 0) as deadline from omicron.runners`,
    );
    const line = await database.query<{ conversation_id: string; waits: boolean; kept: boolean }>(
      `select conversation_id, waits_until > clock_timestamp() as waits, kept_until > clock_timestamp() as kept
         from omicron.waiting_callers where greatest(waits_until, kept_until) > clock_timestamp() order by place`,
    );
    return { sessions, runners, line };
  };

  /** Fields in which the rows are not what the model says. */
  async function compare(next: State, kind: string): Promise<string[]> {
    const seen = await look();
    const differences: string[] = [];
    const differ = (what: string, sql: unknown, said: unknown) => {
      if (sql !== said) differences.push(`${what}: SQL ${String(sql)}, model ${String(said)}`);
    };
    const lined = (rows: { conversation: string; waits: boolean; kept: boolean }[]) =>
      rows
        .map(({ conversation, waits, kept }) => `${conversation}${waits ? ' waits' : ''}${kept ? ' kept' : ''}`)
        .join();
    differ(
      'line',
      lined(seen.line.map(row => ({ ...row, conversation: row.conversation_id }))),
      lined(next.line.map(row => ({ ...row, conversation: `c${row.session}` }))),
    );
    next.sessions.forEach((session, index) => {
      const row = seen.sessions.find(({ id }) => id === sessionIds[index]);
      differ(`s${index} status`, row?.status ?? 'over', session.status);
      differ(`s${index} epoch`, row?.epoch ?? 0, session.epoch);
      differ(`s${index} snapshot`, row?.saved ?? false, session.saved);
      differ(`s${index} claim`, 1 + claimIds.indexOf(row?.claim_id ?? ''), session.claim);
      if (session.status === 'starting') {
        differ(`s${index} claim_until`, row?.claim_left, session.claimLeft);
        differ(`s${index} starting_since`, row?.start_left, session.startLeft);
      }
      // `ready` gives the whole time to live again; in the model the lease's time goes on
      if (session.status === 'ready' && kind !== 'ready' && kind !== 'redeemReady')
        differ(`s${index} expires_at`, row?.left, session.left);
    });
    next.runners.forEach((runner, place) => {
      const row = seen.runners.find(({ id }) => id === runnerIds[place]);
      differ(`r${place} state`, row?.state ?? 'gone', runner.state === 'none' ? 'gone' : runner.state);
      if (runner.state === 'none') return;
      if (runner.boot > 0) differ(`r${place} boot`, row?.boot_id, bootOf(place, runner.boot));
      if (runner.state !== 'gone') differ(`r${place} acknowledged`, row?.acked, runner.acked);
      if (runner.session < 0) return; // unleased, or forgotten by the model
      differ(`r${place} session`, row?.session_id, sessionId(runner.session));
      differ(`r${place} epoch`, row?.epoch, runner.epoch);
      differ(`r${place} assigned`, row?.assigned, runner.assigned);
      differ(`r${place} redeemed`, row?.redeemed, runner.redeemed);
      if (runner.redeemed) differ(`r${place} deadline`, row?.deadline, runner.deadline);
    });
    return differences;
  }

  /** Gives the rows the model's times. A start's lease begins with its redemption; until then it cannot expire. */
  async function setTimes(next: State): Promise<void> {
    const inTicks = (ticks: number) => `clock_timestamp() + make_interval(secs => ${seconds(ticks)})`;
    const sessions = next.sessions.map(({ status, redeemed, used, left, claimLeft, startLeft }, index) => {
      const atLeast = status === 'starting' ? (redeemed ? 1 : TICKS.lease) : 0;
      return `update omicron.browser_sessions set expires_at = ${inTicks(Math.max(left, atLeast))},
                last_used_at = ${inTicks(used ? 0 : -100)},
                claim_until = case when status = 'starting' then ${inTicks(claimLeft)} end,
                starting_since = ${inTicks(startLeft - TICKS.start)}
              where id = '${sessionIds[index] ?? randomUUID()}' and status in ('starting', 'ready');`;
    });
    const runners = next.runners.map(
      ({ deadline }, place) => `update omicron.runners set deadline_at = ${inTicks(deadline)}
              where id = '${runnerIds[place] ?? randomUUID()}' and redeemed_at is not null;`,
    );
    const until = (isAhead: boolean, ms: number) => `clock_timestamp() + interval '${isAhead ? ms : -1} milliseconds'`;
    const lapsed = `update omicron.waiting_callers set waits_until = ${until(false, 0)}, kept_until = ${until(false, 0)};`;
    const line = next.line.map(
      ({ session, waits, kept }) => `update omicron.waiting_callers set waits_until = ${until(waits, 5_000)},
              kept_until = ${until(kept, 35_000)} where conversation_id = 'c${session}';`,
    );
    // the model has no launches: the time of a start counts from its claim
    const launches = `update omicron.runners r set launched_at = s.starting_since from omicron.browser_sessions s
                       where s.runner_id = r.id;`;
    await database.script([...sessions, ...runners, launches, lapsed, ...line].join('\n'));
  }

  /** The model has no step for a redemption that waits; the functions are asked. */
  async function askWaiting(state: State): Promise<string[]> {
    const wrong: string[] = [];
    for (const [place, runner] of state.runners.entries()) {
      if (runner.phase !== 'redeeming' || runner.asked < 0 || runner.job === null) continue;
      if (judgeRedeem(state, world, runner, runner.job) !== 'wait') continue;
      const { outcome } = await redeem(place, runner.job);
      if (outcome !== 'wait') wrong.push(`r${place} must wait for its predecessor: SQL ${outcome}`);
    }
    return wrong;
  }

  /** The line is asked which of the callers that wait are to ask again. */
  async function askLine(state: State): Promise<string[]> {
    const waiting = [...new Set(state.callers.flatMap(each => (each.phase === 'waiting' ? [each.session] : [])))];
    const isHeld = (session: number) => state.line.some(row => row.session === session && row.waits);
    const turns = lineTurns(state, world);
    const called = waiting.filter(session => turns.includes(session) || !isHeld(session)).sort();
    const told = await leases.turns(
      'local',
      't',
      waiting.map(session => places[session] ?? '0'),
    );
    const sql = waiting.filter(session => told.includes(places[session] ?? '0')).sort();
    return String(sql) === String(called) ? [] : [`the line calls: SQL ${sql}, model ${called}`];
  }

  return {
    /** Differences after this step. */
    async follow(state: State, step: Step<State>): Promise<string[]> {
      const answers = await act(state, step);
      const kind = kindOf(step.name);
      const differences = answers === null ? [] : await compare(step.next, kind);
      if (JSON.stringify(answers?.[0]) !== JSON.stringify(answers?.[1]))
        differences.unshift(`answer: SQL ${JSON.stringify(answers?.[0])}, model ${JSON.stringify(answers?.[1])}`);
      if (answers !== null || kind === 'tick') await setTimes(step.next);
      for (const [place, { state: row }] of step.next.runners.entries())
        if (row === 'none') runnerIds[place] = undefined;
      if (differences.length > 0) return differences;
      return [...(await askWaiting(step.next)), ...(world.line ? await askLine(step.next) : [])];
    },
  };
}
