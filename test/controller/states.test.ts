import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import {
  mayMove,
  NEXT_RUNNER_STATES,
  NEXT_SESSION_STATES,
  RUNNER_STATES,
  SESSION_STATES,
} from '../../contract/states.ts';
import type { Database } from '../../controller/ports/database.ts';
import { freshPostgres } from '../postgres.ts';

const pairs = <State>(states: readonly State[]) => states.flatMap(from => states.map(to => ({ from, to })));

/** The database's answer to each move: null where it lets it pass. Guards run before checks, and see updates alone. */
const outcomes = <State>(states: readonly State[], move: (from: State, to: State) => Promise<unknown>) =>
  Promise.all(
    pairs(states).map(async ({ from, to }) => {
      const refusal = await move(from, to).then(
        () => null,
        (error: Error) => error.message,
      );
      return { from, to, refusal };
    }),
  );

const session = async (database: Database, status: string): Promise<string> => {
  const [row] = await database.query<{ id: string }>(
    `insert into omicron.browser_sessions (user_id, conversation_id, status, k8s_namespace, provider, epoch, ttl_seconds,
         expires_at, ends_at, options, mcp_url, runner_id, claim_id, claim_until, starting_since, hibernated_until)
       values ('ada', $2, $1, 'ns', 'local', 3, 600, now(), now(), '{}', 'url', gen_random_uuid(),
         case when $1 in ('starting', 'ready') then gen_random_uuid() end, now(), now(), now()) returning id`,
    [status, randomUUID()],
  );
  return row?.id ?? '';
};

/** A lease that ends gives up its claim; one that starts has one. */
const SET_STATUS = `update omicron.browser_sessions
  set status = $2, epoch = $3, claim_id = case when $2 in ('starting', 'ready') then gen_random_uuid() end where id = $1`;

it('the session’s guard allows the moves of the table within an epoch, and no other', async () => {
  const database = await freshPostgres();
  const seen = await outcomes(SESSION_STATES, async (from, to) =>
    database.query(SET_STATUS, [await session(database, from), to, 3]),
  );
  for (const { from, to, refusal } of seen)
    expect([from, to, refusal]).toEqual([
      ...[from, to],
      mayMove(NEXT_SESSION_STATES, from, to) ? null : expect.stringContaining(`may not go from ${from} to ${to}`),
    ]);
});

it('the session’s guard lets every state go to starting in a new epoch, and to nothing else', async () => {
  const database = await freshPostgres();
  const seen = await outcomes(SESSION_STATES, async (from, to) =>
    database.query(SET_STATUS, [await session(database, from), to, 4]),
  );
  for (const { from, to, refusal } of seen)
    expect([from, to, refusal]).toEqual([
      ...[from, to],
      to === 'starting' ? null : expect.stringContaining('a new epoch of session'),
    ]);
});

it('the runner’s guard allows the moves of the table, and no other', async () => {
  const database = await freshPostgres();
  const leaseOf = async () => session(database, 'ended');
  const seen = await outcomes(RUNNER_STATES, async (from, to) => {
    const [row] = await database.query<{ id: string }>(
      `insert into omicron.runners (provider, template, state, boot_id, endpoint, session_id, epoch)
         values ('local', 't', $1, gen_random_uuid(), 'url', $2, 1) returning id`,
      [from, await leaseOf()],
    );
    return database.query('update omicron.runners set state = $2 where id = $1', [row?.id, to]);
  });
  for (const { from, to, refusal } of seen)
    expect([from, to, refusal]).toEqual([
      ...[from, to],
      mayMove(NEXT_RUNNER_STATES, from, to) ? null : expect.stringContaining(`may not go from ${from} to ${to}`),
    ]);
});
