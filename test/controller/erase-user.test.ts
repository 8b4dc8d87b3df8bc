import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { type UserErasure, userErasure } from '../../contract/user-erasure.ts';
import { sqlErasures } from '../../controller/store/erasures.ts';
import { eventually } from '../eventually.ts';
import { type Stack, startStack } from './stack.ts';

const STATE = { cookies: [], origins: [] };

/** A user with one of everything. */
async function fill(stack: Stack, user: string): Promise<string> {
  // without the video that a fake runner says it stored, outside of this controller's artifacts
  const { body } = await stack.getOrCreate({ user_id: user, profile: null, record_video: false });
  const { session_id: id } = body as { session_id: string }; // a Lease
  const users = `/internal/users/${user}`;
  const put = async (path: string, content: unknown) => {
    const { status } = await stack.call('PUT', path, { body: content });
    expect([path, status]).toEqual([path, expect.any(Number)]);
    expect(status).toBeLessThan(300);
  };
  await put(`${users}/credentials/shop.example`, { username: 'u', password: 'p' });
  await put(`${users}/profiles/work/state`, STATE);
  await put(`${users}/policy`, { version: 1 });
  await put(`/internal/browser-sessions/${id}/policy`, { version: 1 });
  const folder = join(stack.dataDir, 'artifacts', user);
  await mkdir(folder, { recursive: true });
  for (const [name, kind] of [
    ['tab-001.webm', 'video'],
    ['report.pdf', 'file'],
  ]) {
    await writeFile(join(folder, name ?? ''), 'bytes');
    await stack.database.query(
      `insert into omicron.artifacts (session_id, epoch, runner_id, name, kind, state, uri, bytes)
       select id, epoch, runner_id, $2, $3, 'stored', $4, 5 from omicron.browser_sessions where id = $1`,
      [id, name, kind, pathToFileURL(join(folder, name ?? '')).href],
    );
  }
  await stack.database.query(
    `insert into omicron.user_actions (id, session_id, epoch, reason, expires_at)
     values (gen_random_uuid(), $1, 1, 'a code', clock_timestamp() + interval '1 minute')`,
    [id],
  );
  const hook = { url: 'https://1.1.1.1/hooks', user_id: user };
  expect((await stack.call('POST', '/internal/webhooks', { body: hook })).status).toBe(201);
  return id;
}

/** Rows that name the user or one of the sessions. */
async function rowsLeft(stack: Stack, user: string, session: string): Promise<number> {
  const [row] = await stack.database.query<{ rows: number }>(
    `select (select count(*) from omicron.browser_sessions where user_id = $1)
          + (select count(*) from omicron.session_events where session_id = $2)
          + (select count(*) from omicron.artifacts where session_id = $2)
          + (select count(*) from omicron.runners where session_id = $2)
          + (select count(*) from omicron.user_actions where session_id = $2)
          + (select count(*) from omicron.policies where subject in ($1, $2::text))
          + (select count(*) from omicron.profiles where user_id = $1)
          + (select count(*) from omicron.profile_keys where user_id = $1)
          + (select count(*) from omicron.webhooks where user_id = $1)
          + (select count(*) from omicron.user_erasures) as rows`,
    [user, session],
  );
  return Number(row?.rows);
}

const credentialsOf = async (stack: Stack, user: string) =>
  ((await stack.call('GET', `/internal/users/${user}/credentials`)).body as { sites: unknown[] }).sites; // a CredentialList

const erase = (stack: Stack, user: string): Promise<UserErasure> =>
  eventually('the removal', async () => {
    const { status, body } = await stack.call('DELETE', `/internal/users/${user}`);
    const erasure = userErasure.parse(body);
    expect(status).toBe(erasure.done ? 200 : 202);
    return erasure.done && erasure;
  });

it('[E2] removes everything of a user by one call, and nothing of another', async () => {
  await using stack = await startStack();
  const ada = await fill(stack, 'ada');
  const bob = await fill(stack, 'bob');
  const ofBob = await rowsLeft(stack, 'bob', bob);
  expect((await stack.call('DELETE', '/internal/users/ada', { user: 'bob' })).status).toBe(403);
  const { removed } = await erase(stack, 'ada');
  const one = { sessions: 1, videos: 1, files: 1, pages: 0, profiles: 1, credentials: 1, policies: 2, user_actions: 1 };
  expect(removed).toEqual({ ...one, events: expect.any(Number) });
  expect(removed.events).toBeGreaterThan(1);
  expect(await rowsLeft(stack, 'ada', ada)).toBe(0);
  expect(await credentialsOf(stack, 'ada')).toEqual([]);
  expect(await readdir(join(stack.dataDir, 'artifacts'))).toEqual(['bob']);
  expect((await stack.call('GET', `/internal/browser-sessions/${ada}`)).status).toBe(404);
  expect(await rowsLeft(stack, 'bob', bob)).toBe(ofBob);
  expect(await credentialsOf(stack, 'bob')).toHaveLength(1);
  const again = await erase(stack, 'ada');
  expect(Object.values(again.removed).every(count => count === 0)).toBe(true);
  expect((await stack.getOrCreate({ user_id: 'ada' })).status).toBe(200); // may come back, as any user may
});

it('[E2] goes on by itself where a crash stopped it', async () => {
  await using stack = await startStack();
  const ada = await fill(stack, 'ada');
  // as a controller leaves it that crashed after its first step
  await stack.database.query(`select omicron.begin_erasure('ada')`);
  await stack.database.query(`update omicron.user_erasures set asked_at = asked_at - interval '1 minute'`);
  await eventually('the rest', async () => (await rowsLeft(stack, 'ada', ada)) === 0);
  expect(await credentialsOf(stack, 'ada')).toEqual([]);
});

it('[E2] a removal that another request takes over is finished, and answered, by that one', async () => {
  await using stack = await startStack();
  const erasures = sqlErasures(stack.database);
  const [first, second] = [await erasures.begin('ada'), await erasures.begin('ada')];
  await erasures.countErased('ada', { credentials: 1 });
  expect(await erasures.pending(1)).toEqual([]); // a loop that took it would take its counts too
  await erasures.finish('ada', first);
  expect((await erasures.removed('ada')).credentials).toBe(1);
  await erasures.finish('ada', second);
  expect((await erasures.removed('ada')).credentials).toBe(0);
});
