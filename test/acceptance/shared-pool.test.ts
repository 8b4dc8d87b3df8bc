import { expect, it, onTestFinished } from 'vitest';
import { startSite } from '../site/site.ts';
import { connect, deployment, lease, SESSIONS, use } from './controllers.ts';

it('two controllers keep one pool: no claimed runner is ever taken by it', { timeout: 180_000 }, async () => {
  const site = await startSite();
  onTestFinished(() => site.close());
  const d = await deployment();
  const settings = { OMICRON_POOL_IDLE: '2' };
  const [c1, c2] = await Promise.all([d.controller(settings), d.controller(settings)]);
  if (!c1 || !c2) throw new Error('no controllers');
  for (let round = 0; round < 2; round++) {
    const leases = await Promise.all(
      [c1, c2].map((at, n) => lease(d, at, { user_id: 'ada', conversation_id: `${round}-${n}`, record_video: false })),
    );
    expect(new Set(leases.map(each => each.mcp_url)).size).toBe(2);
    await Promise.all(
      leases.map(async each => {
        expect(await use(await connect(each), 'browser_navigate', { url: site.url })).toContain('Shop');
        await d.call(c2, 'DELETE', `${SESSIONS}/${each.session_id}`);
      }),
    );
  }
  expect(d.log()).not.toContain('loop failed');
});
