import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Database } from '../../controller/ports/database.ts';
import { migrate } from '../../controller/store/migrate.ts';
import { CHANGE_LOG, type Change, READ_CHANGES } from './change-log.ts';
import { CLOCK_START_MS, VIRTUAL_CLOCK, VIRTUAL_SEARCH_PATH } from './virtual-clock.ts';

/** Connections on which the steps of a race run at once, and one that holds a lock. */
const CONNECTIONS = 3;

/** A database whose time stands still until a history moves it, with the schema of this release and a log of its changes. */
export interface ProofDatabase {
  readonly url: string;
  /** The first is the usual one. Each statement is a transaction of its own. */
  readonly connections: readonly ProofConnection[];
  nowMs(): number;
  /** Moves time, and returns once every later statement sees it. */
  advance(ms: number): Promise<void>;
  /** As `advance`, while steps wait for a lock. */
  advanceBeside(ms: number): Promise<void>;
  /** All that was changed since this was called last. */
  changes(): Promise<Change[]>;
  /** Removes all rows; time goes on. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export interface ProofConnection extends Database {
  readonly client: pg.Client;
  /** Statements after this are of that step, one millisecond after the last one. */
  begin(step: number): Promise<void>;
  /** As `begin`, without time. */
  mark(step: number): Promise<void>;
}

/** Creates one on the server at `server`, a URL without a database. */
export async function createProofDatabase(server: string): Promise<ProofDatabase> {
  const name = `proof_${randomBytes(6).toString('hex')}`;
  const admin = new pg.Client(`${server}/postgres`);
  await admin.connect();
  await admin.query(`create database ${name}`).finally(() => admin.end());
  const url = `${server}/${name}`;
  return openProofDatabase(url, true);
}

/** `fresh`: creates the schema. */
export async function openProofDatabase(url: string, fresh: boolean): Promise<ProofDatabase> {
  let nowMs = 1;
  let seen = 0;
  const advanceOn = async (connection: ProofConnection | undefined, ms: number) => {
    nowMs += ms;
    await connection?.client.query(statement(`select setval('proof.clock', $1)`, [nowMs]));
  };
  const clients = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const client = new pg.Client({ connectionString: url, options: VIRTUAL_SEARCH_PATH });
      client.on('error', () => {}); // each statement says so itself
      await client.connect();
      return client;
    }),
  );
  const connections = clients.map(client => ({
    ...databaseOf(client),
    begin: async (step: number) => {
      nowMs += 1;
      await client.query(
        statement(`select set_config('proof.step', $1, false), setval('proof.clock', $2)`, [String(step), nowMs]),
      );
    },
    mark: async (step: number) => {
      await client.query(statement(`select set_config('proof.step', $1, false)`, [String(step)]));
    },
  }));
  const first = connections[0] as ProofConnection;
  if (fresh) {
    await first.script(VIRTUAL_CLOCK);
    await migrate(first);
    await first.script(CHANGE_LOG);
  }
  return {
    url,
    connections,
    nowMs: () => CLOCK_START_MS + nowMs,
    advance: ms => advanceOn(first, ms),
    advanceBeside: ms => advanceOn(connections.at(-1), ms),
    async changes() {
      const rows = await first.query<Change>(READ_CHANGES, [seen]);
      seen = rows.at(-1)?.seq ?? seen;
      return rows;
    },
    async clear() {
      await first.script(
        `truncate omicron.browser_sessions, omicron.runners, omicron.permits, omicron.waiting_callers, omicron.profiles, omicron.session_events,
           omicron.profile_objects, omicron.tally_shards, proof.changes cascade`,
      );
    },
    close: async () => {
      await Promise.all(clients.map(client => client.end()));
    },
  };
}

const names = new Map<string, string>();

/** Named, so that each text is parsed once a connection. */
function statement(text: string, values: readonly unknown[]) {
  const name = names.get(text) ?? `s${names.size}`;
  names.set(text, name);
  return { name, text, values: [...values] };
}

const databaseOf = (client: pg.Client): Database & { client: pg.Client } => ({
  client,
  query: async <Row extends object>(sql: string, parameters: readonly unknown[] = []) =>
    (await client.query<Row>(statement(sql, parameters))).rows,
  script: async sql => {
    await client.query(sql);
  },
  close: () => client.end(),
});
