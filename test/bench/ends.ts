import pg from 'pg';
import { pino } from 'pino';
import { migrate } from '../../controller/store/migrate.ts';
import { postgresDatabase } from '../../controller/store/postgres.ts';
import { ratio } from './figures.ts';
import { serverCpu } from './postgres-cpu.ts';

const CONNECTIONS = 16;
const ENDS = 1_600;
const TURNS = 4;

/** Live leases, whose ids it returns: those of one turn. */
const LEASES = `
  with s as (
    insert into omicron.browser_sessions (user_id, conversation_id, status, k8s_namespace, expires_at, epoch, provider, runner_id, claim_id, mcp_url,
        ttl_seconds, ends_at, options)
      select $1 || n, 'c', 'ready', 'local', now() + interval '1 hour', 1, 'local', gen_random_uuid(), gen_random_uuid(), 'http://r/mcp',
             7200, now() + interval '8 hours', '{"record_video": true}' from generate_series(1, $2::int) n returning id, runner_id
  ), r as (
    insert into omicron.runners (id, provider, template, state, boot_id, endpoint, session_id, epoch, redeemed_at, deadline_at)
      select runner_id, 'local', 't1', 'leased', gen_random_uuid(), 'http://r', id, 1, now(), now() + interval '1 hour' from s
  )
  select id from s`;

/**
 * Ends of leases, a transaction each; and plain updates of the same rows, which no two connections share: what sixteen of them cost beside one is this
 * machine's and Postgres' own. The server loops by itself: a client's round trips cost more than the ends do.
 */
const PROCEDURES = {
  ends: "perform omicron.end_lease(v_id, null, null, 'released')",
  updates: `update omicron.browser_sessions set last_used_at = clock_timestamp() where id = v_id;
            update omicron.runners set seen_at = clock_timestamp() where session_id = v_id and epoch = 1`,
} as const;
type Work = keyof typeof PROCEDURES;
const EACH_WORK: readonly Work[] = ['updates', 'ends'];

const eachSession = (work: Work) => `create procedure public.${work}(p_sessions uuid[]) language plpgsql as $$
  declare v_id uuid;
  begin
    foreach v_id in array p_sessions loop
      ${PROCEDURES[work]};
      commit;
    end loop;
  end $$`;

/**
 * CPU of Postgres for an end of a lease, on sixteen connections at once and on one, and the same for plain updates. All take turns: a shared
 * machine changes its speed.
 */
export async function measureEnds(databaseUrl: string) {
  const database = postgresDatabase({ url: databaseUrl, connectionsMax: 1, log: pino({ level: 'silent' }) });
  await migrate(database);
  for (const work of EACH_WORK) await database.script(eachSession(work));

  const seconds = { ends: { 1: 0, [CONNECTIONS]: 0 }, updates: { 1: 0, [CONNECTIONS]: 0 } };
  type Connections = keyof (typeof seconds)[Work];
  const turn = async (connections: Connections, name: string) => {
    const leases = await database.query<{ id: string }>(LEASES, [name, ENDS]);
    for (const table of ['browser_sessions', 'runners']) await database.query(`vacuum (analyze) omicron.${table}`);
    const clients = Array.from({ length: connections }, () => new pg.Client(databaseUrl));
    for (const client of clients) {
      await client.connect();
      for (const work of EACH_WORK) await client.query(`call public.${work}('{}')`);
    }
    for (const work of EACH_WORK) {
      const before = await serverCpu(database);
      const workShare = (client: pg.Client, n: number) => {
        const share = leases.filter((_, index) => index % connections === n).map(({ id }) => id);
        return client.query(`call public.${work}($1)`, [share]);
      };
      await Promise.all(clients.map(workShare));
      seconds[work][connections] += (await serverCpu(database)) - before;
    }
    for (const client of clients) await client.end();
  };
  for (let n = 0; n < 2 * TURNS; n++) await turn(n % 4 === 0 || n % 4 === 3 ? 1 : CONNECTIONS, `turn-${n}-`);
  await database.close();
  const ms = (connections: Connections) => Math.round((100_000 * seconds.ends[connections]) / (ENDS * TURNS)) / 100;
  return {
    end_cpu_ratio_16: ratio(seconds.ends[CONNECTIONS], seconds.ends[1]),
    update_cpu_ratio_16: ratio(seconds.updates[CONNECTIONS], seconds.updates[1]),
    end_cpu_ms: { one: ms(1), sixteen: ms(CONNECTIONS) },
  };
}
