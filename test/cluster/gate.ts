import { eventually } from '../eventually.ts';
import { begin, execute, rows } from './database.ts';

/**
 * Failpoints of the claim, from outside: triggers in the database hold a step of the sessions of certain users until
 * the gate opens. The product knows nothing of it.
 */
export const STEPS = ['claim', 'redeem', 'ready'] as const;
export type Step = (typeof STEPS)[number];

/** A user whose session is held in that step. */
export const userHeldAt = (step: Step, name: string): string => `gate-${step}-${name}`;

const LOCKS = 7421; // any number that no other advisory lock has as its first one

const TRIGGERS = `
create schema gate;
create function gate.wait() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(${LOCKS}, 1);
  return new;
end $$;
create function gate.wait_runner() returns trigger language plpgsql as $$
begin
  if exists (select from omicron.browser_sessions where id = new.session_id and user_id like 'gate-redeem-%') then
    perform pg_advisory_xact_lock_shared(${LOCKS}, 1);
  end if;
  return new;
end $$;
create trigger gate_claim before insert on omicron.browser_sessions
  for each row when (new.user_id like 'gate-claim-%') execute function gate.wait();
create trigger gate_redeem before update on omicron.runners
  for each row when (old.redeemed_at is null and new.redeemed_at is not null) execute function gate.wait_runner();
create trigger gate_ready before update on omicron.browser_sessions
  for each row when (old.status = 'starting' and new.status = 'ready' and new.user_id like 'gate-ready-%')
  execute function gate.wait();
`;

/** Puts the triggers up; nothing is held while no gate is closed. */
export async function installGate(): Promise<void> {
  await removeGate();
  await execute(TRIGGERS);
}

/** One statement a table: a transaction that locks both waits in a circle with the controllers. */
export const removeGate = (): Promise<void> =>
  execute(`set client_min_messages = warning;
drop trigger if exists gate_claim on omicron.browser_sessions;
drop trigger if exists gate_ready on omicron.browser_sessions;
drop trigger if exists gate_redeem on omicron.runners;
drop schema if exists gate cascade;`);

/** A statement that waits at the gate: its server process, and the address of its controller. */
export interface Hanging {
  readonly pid: number;
  readonly address: string;
}

export interface Gate {
  hanging(): Promise<Hanging[]>;
  /** Ends the statements that hang, as when their connection broke before COMMIT: nothing of them happened. */
  rollBack(): Promise<void>;
  /** Waiting statements continue and are committed, even if their controller is gone. */
  open(): Promise<void>;
}

/** Closes the gate that is installed. */
export async function closeGate(): Promise<Gate> {
  // Its own end is the bound, should the test break off.
  await begin(`select pg_advisory_lock(${LOCKS}, 1), pg_sleep(300)`);
  const locks = `pg_locks l join pg_stat_activity a using (pid) where l.locktype = 'advisory' and l.classid = ${LOCKS}`;
  const keeper = `select a.pid from ${locks} and l.granted and l.mode = 'ExclusiveLock'`;
  const waiting = `select a.pid, host(a.client_addr) as address from ${locks} and not l.granted`;
  const end = (pids: string) => rows(`select pg_terminate_backend(pid) from (${pids}) those`);
  await eventually('the gate is closed', async () => (await rows(keeper)).length === 1, 60_000);
  return {
    hanging: () => rows<Hanging>(waiting),
    rollBack: async () => void (await end(waiting)),
    open: async () => void (await end(keeper)),
  };
}
