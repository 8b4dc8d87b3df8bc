import { expect, it } from 'vitest';
import { EVENT_KINDS } from '../../contract/event-kinds.ts';
import { RUNNER_EVENT_KINDS } from '../../contract/reports.ts';
import type { SessionEvent } from '../../contract/session.ts';
import { filesOf } from '../docs/files.ts';

const KINDS = Object.keys(EVENT_KINDS);

/** Kinds that the SQL functions write: the third argument of write_event, a prefix of it, and the egress proxy's. */
async function kindsInSql(): Promise<string[]> {
  const texts = await filesOf(['controller/store/functions'], /\.sql$/);
  return texts.flatMap(([, sql]) => [
    ...[...sql.matchAll(/write_event\([^,]+, [^,]+, '([a-z_.]+)'/g)].map(([, kind = '']) => kind),
    ...[...sql.matchAll(/'(egress\.[a-z_]+)'/g)].map(([, kind = '']) => kind),
  ]);
}

it('every kind that the SQL functions write is one of the table', async () => {
  const written = await kindsInSql();
  expect(written.length).toBeGreaterThan(10);
  expect(
    written.filter(kind => !KINDS.some(known => (kind.endsWith('.') ? known.startsWith(kind) : known === kind))),
  ).toEqual([]);
});

it('every kind of the table is written by a runner or by an SQL function', async () => {
  const written = [...(await kindsInSql()), ...RUNNER_EVENT_KINDS];
  expect(
    KINDS.filter(kind => !written.some(each => (each.endsWith('.') ? kind.startsWith(each) : kind === each))),
  ).toEqual([]);
});

it('a misspelt kind does not compile', () => {
  const isMisspelt = (event: Pick<SessionEvent, 'kind'>) =>
    // @ts-expect-error: no release writes this kind
    event.kind === 'tool.cal';
  expect(isMisspelt({ kind: 'tool.call' })).toBe(false);
});
