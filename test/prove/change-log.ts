/** Every committed change of the rows that the rules speak of, in commit order: the number is taken under the lock of the row. */
const COLUMNS = {
  browser_sessions: {
    key: 'id',
    plain: [
      ...['user_id', 'conversation_id', 'provider', 'status', 'epoch', 'runner_id', 'claim_id', 'ttl_seconds'],
      ...['ended_reason'],
    ],
    times: [
      ...['claim_until', 'starting_since', 'expires_at', 'ends_at', 'hibernated_until', 'last_used_at', 'released_at'],
    ],
    more: `, 'profile', new.options -> 'profile'`,
  },
  runners: {
    key: 'id',
    plain: ['provider', 'template', 'state', 'session_id', 'epoch', 'boot_id', 'redemption_key'],
    times: ['assigned_at', 'redeemed_at', 'acknowledged_at', 'deadline_at', 'draining_at', 'launched_at'],
    more: '',
  },
  permits: { key: 'slot', plain: ['runner_id'], times: [], more: '' },
  waiting_callers: {
    key: 'place',
    plain: ['provider', 'user_id', 'conversation_id'],
    times: ['waits_until', 'kept_until'],
    more: '',
  },
  profiles: { key: 'id', plain: ['user_id', 'name', 'session_id', 'version', 'writer'], times: [], more: '' },
} as const;

export type TableName = keyof typeof COLUMNS;

const inMs = (column: string) =>
  `'${column}', case when new.${column} > '2000-01-01' then (extract(epoch from new.${column}) * 1000)::bigint when new.${column} is not null then 0 end`;

const trigger = (table: TableName): string => {
  const { key, plain, times, more } = COLUMNS[table];
  const fields = [...plain.map(column => `'${column}', new.${column}`), ...times.map(inMs)].join(', ');
  return `
create function proof.log_${table}() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    insert into proof.changes (step, tab, key) values (proof.step(), '${table}', old.${key}::text);
  else
    insert into proof.changes (step, tab, key, row) values (proof.step(), '${table}', new.${key}::text, jsonb_build_object(${fields}${more}));
  end if;
  return null;
end $$;
create trigger proof_log after insert or update or delete on omicron.${table} for each row execute function proof.log_${table}();`;
};

export const CHANGE_LOG = `
create unlogged table proof.changes (
  seq bigint generated always as identity primary key, step integer, tab text not null, key text not null, row jsonb,
  tx bigint not null default pg_current_xact_id()::text::bigint, at bigint not null default (extract(epoch from proof.clock_timestamp()) * 1000)::bigint);
create function proof.step() returns integer language sql as $$ select nullif(current_setting('proof.step', true), '')::integer $$;
${(Object.keys(COLUMNS) as TableName[]).map(trigger).join('')}`;

/** All after a number, in order. */
export const READ_CHANGES =
  'select seq::float8 as seq, step, tab, key, row, tx::float8 as tx, at::float8 as at from proof.changes where seq > $1 order by seq';

export interface Change {
  seq: number;
  /** The step that made it; null outside of one. */
  step: number | null;
  tab: TableName;
  key: string;
  /** Null: the row was removed. */
  row: Readonly<Record<string, unknown>> | null;
  /** The transaction. */
  tx: number;
  /** Milliseconds of the clock. */
  at: number;
}
