import { expect, it } from 'vitest';
import { ENV } from '../../contract/names.ts';
import { eventually } from '../eventually.ts';
import { connection } from '../postgres.ts';
import { startStack } from './stack.ts';

const CALLERS = 200;
const CONNECTIONS = 2;

it('heartbeats and reports are answered while callers hold every connection of the database', {
  timeout: 30_000,
}, async () => {
  await using stack = await startStack({ [ENV.databaseConnections]: CONNECTIONS });
  const { session_id } = await stack.lease({ user_id: 'bob' });
  const { runner } = await stack.machine.leased(session_id);
  const other = await connection(stack.settings.databaseUrl);
  await other.query(`select pg_advisory_lock(hashtextextended('omicron.user:ada', 0))`);
  const callers = Array.from({ length: CALLERS }, () => stack.getOrCreate({ user_id: 'ada' }));
  await eventually('every connection waits', async () => {
    const waiting = await other.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return waiting.rowCount === CONNECTIONS;
  });

  const beganMs = performance.now();
  for (let n = 0; n < 20; n++) {
    const heartbeat = await stack.call('POST', `/internal/browser-sessions/${session_id}/heartbeat`, { body: {} });
    expect(heartbeat).toMatchObject({ status: 200, body: { status: 'ready' } });
    expect((await runner.report('runner-activity', { calls: 1 })).status).toBe(200);
  }
  expect(performance.now() - beganMs).toBeLessThan(2_000); // a caller of the other pool waits 5 s for a connection, then fails

  await other.query('select pg_advisory_unlock_all()');
  const sessions = new Set((await Promise.all(callers)).map(({ body }) => (body as { session_id: string }).session_id));
  expect(sessions.size).toBe(1);
});
