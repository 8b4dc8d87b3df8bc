import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { type Site, startSite } from '../site/site.ts';
import { connect, deployment, lease, recordings, SESSIONS, show, use } from './controllers.ts';

// whole controllers and browsers: minutes on a busy machine
describe('a deployment', { timeout: 180_000 }, () => {
  let site: Site;
  beforeAll(async () => {
    site = await startSite();
  });
  afterAll(() => site.close());

  it('a lease serves the tools that it asked for, and a policy takes some of them away while it lives', async () => {
    const d = await deployment();
    const c = await d.controller({ OMICRON_POOL_IDLE: '0' });
    const leased = await lease(d, c, { user_id: 'ada', conversation_id: 'c', record_video: false, toolset: 'compat' });
    const client = await connect(leased);
    const names = async () => (await client.listTools()).tools.map(tool => tool.name);
    expect(await names()).toEqual(expect.arrayContaining(['browser_get_content', 'browser_login']));
    expect(await names()).not.toContain('browser_snapshot');
    await use(client, 'browser_navigate', { url: site.url });
    const policy = {
      version: 1,
      tools: [{ tools: ['browser_get_content'], action: 'block_always', reason: 'Look only.' }],
    };
    await d.call(c, 'PUT', `${SESSIONS}/${leased.session_id}/policy`, policy);
    await eventually(
      'the policy to reach the runner',
      async () => !(await names()).includes('browser_get_content'),
      30_000,
    );
    await expect(use(client, 'browser_get_content', { format: 'text' })).rejects.toThrow('Look only.');
  });

  it('leaves nothing behind in the data folder but the vault, the recordings and warm runners', async () => {
    const d = await deployment();
    const c = await d.controller();
    await d.call(c, 'PUT', '/internal/users/ada/credentials/shop', {
      username: 'ada',
      password: 'a-very-secret-password',
    });
    const leased = await lease(d, c, { user_id: 'ada', conversation_id: 'c' });
    const client = await connect(leased);
    await use(client, 'browser_navigate', { url: site.url });
    await d.call(c, 'DELETE', `${SESSIONS}/${leased.session_id}`);
    await recordings(d, c, leased.session_id);
    const runnerId = (await show(d, c, leased.session_id)).runner_id ?? '';
    expect(await readdir(join(d.dataDir, 'runners'))).not.toContain(runnerId);
    expect((await readdir(d.dataDir)).sort()).toEqual(['artifacts', 'runners', 'secrets.jwe']);
    expect(await readFile(join(d.dataDir, 'secrets.jwe'), 'utf8')).not.toContain('a-very-secret-password');
    expect(d.log()).not.toContain('a-very-secret-password');
    expect((await connect(leased)).getInstructions()).toContain('The lease has ended');
  });
});
