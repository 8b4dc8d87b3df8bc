import { expect, it } from 'vitest';
import { parsePolicy } from '../../contract/policy/document.ts';
import { sqlEgressLeases } from '../../controller/store/egress-leases.ts';
import { sqlPolicies } from '../../controller/store/policies.ts';
import { freshPostgres } from '../postgres.ts';
import { protocol } from './protocol.ts';

it('a proxy learns of all leases at once what it learns of each: live, drained, expired and gone, under every layer of policies', async () => {
  const database = await freshPostgres();
  const p = protocol(database, { userLimit: 100 });
  const policies = sqlPolicies(database);
  const egressLeases = sqlEgressLeases(database);
  const document = parsePolicy({ version: 1, sites: { deny: ['a.example'] } });
  await p.warm(14);
  const lease = (name: string) => p.lease({ userId: name, conversationId: name });
  for (const layered of ['', 'user', 'session', 'presets', 'user session', 'user presets', 'user session presets']) {
    const { session } = await lease(`with ${layered}`);
    if (layered.includes('user')) await policies.put('user', session.user_id, document);
    if (layered.includes('session')) await policies.put('session', session.id, document);
    if (layered.includes('presets'))
      await database.query(
        `update omicron.browser_sessions set options = options || '{"policy": {"version": 1}}' where id = $1`,
        [session.id],
      );
  }
  await p.claim({ userId: 'starting' });
  await p.age((await lease('expired')).session.id, 700);
  const drained = await lease('drained');
  const old = await lease('drained yesterday');
  const gone = await lease('gone');
  for (const { session } of [drained, old, gone]) await p.leases.end(session.id, null, null, 'released');
  await database.query(`update omicron.runners set draining_at = draining_at - interval '3 hours' where id = $1`, [
    drained.runner.id,
  ]);
  await database.query(`update omicron.runners set draining_at = draining_at - interval '25 hours' where id = $1`, [
    old.runner.id,
  ]);
  await p.fleet.markGone(gone.runner.id);

  const versions = new Set<string | null>();
  for (const deployed of [false, true]) {
    if (deployed) await policies.put('deployment', '', document);
    const held = new Map((await egressLeases.held()).map(each => [each.runner_id, each]));
    const rows = await database.query<{ id: string }>('select id from omicron.runners');
    const ids = rows.map(({ id }) => id);
    const [live, awaited] = [await egressLeases.live(ids), await egressLeases.awaitedUploads(ids)];
    ids.forEach((id, place) => {
      const each = held.get(id);
      const key = each && { session_id: each.session_id, epoch: each.epoch, runner_id: id };
      const seconds = (ms: number | null | undefined) => (ms && ms > 0 ? Math.round(ms / 60_000) : null);
      expect({ id, version: each?.policy_version ?? null, minutes: seconds(each?.lease_ms) }).toEqual({
        id,
        version: live[place]?.policy.version ?? null,
        minutes: seconds(live[place]?.remainingMs),
      });
      expect(seconds(each?.upload_ms)).toBe(seconds(awaited[place]?.remainingMs));
      if (live[place]) expect(live[place].lease).toEqual(key);
      if (awaited[place]) expect(awaited[place].lease).toEqual(key);
      versions.add(each?.policy_version ?? null);
    });
    expect(live.filter(each => each !== null)).toHaveLength(7);
    expect(awaited.filter(each => each !== null)).toHaveLength(9);
  }
  expect(versions.size).toBe(15);
});
