import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BrowserSessions } from '../../client/browser-sessions.ts';
import { LOGGED_IN, LOGGED_OUT, type MemberSite, SECRETS } from '../site/member-site.ts';
import { found, logIn } from './member.ts';
import { type ProfileStack, startProfileStack } from './profile-stack.ts';

// More of what leases do with profiles: profile-use.test.ts.
describe('a profile on real browsers', () => {
  let on: ProfileStack;
  let sessions: BrowserSessions;
  let site: MemberSite;
  beforeAll(async () => {
    on = await startProfileStack();
    ({ sessions, site } = on);
  });
  afterAll(() => on?.[Symbol.asyncDispose]());

  it('keeps the login of a lease for the next one, on another runner', async () => {
    const first = await on.leaseOf('work');
    expect(await found(site, first)).toEqual(LOGGED_OUT);
    await logIn(site, first);
    const { runner_id } = await sessions.get(first.sessionId);
    await first.end();
    const second = await on.leaseOf('work');
    expect((await sessions.get(second.sessionId)).runner_id).not.toBe(runner_id);
    expect(await found(site, second)).toEqual(LOGGED_IN);
    await second.end();
    expect(await sessions.listProfiles('ada')).toEqual([
      expect.objectContaining({
        name: 'work',
        version: 1, // the second lease changed nothing
        domains: [{ domain: '127.0.0.1', expires_at: null, logged_in: true }],
        writer_session_id: null,
      }),
    ]);
  });

  it('refuses a second writer, and lets a reader in', async () => {
    const writer = await on.leaseOf('work');
    await expect(on.leaseOf('work')).rejects.toMatchObject({
      code: 'profile_in_use',
      retryAfterSeconds: expect.any(Number),
      extra: { session_id: writer.sessionId },
    });
    const reader = await on.leaseOf('work', 'read-only');
    expect(await found(site, reader)).toEqual(LOGGED_IN);
    const { conversation_id: conversationId } = await sessions.get(writer.sessionId);
    const other = { userId: 'ada', conversationId, recordVideo: false };
    await expect(sessions.acquire({ ...other, profile: null })).rejects.toMatchObject({ code: 'profile_mismatch' });
    expect((await sessions.acquire(other)).sessionId).toBe(writer.sessionId);
    await Promise.all([writer.end(), reader.end()]);
  });

  it('takes a storageState in and gives it out, and goes back to an older version', async () => {
    const state = await sessions.exportProfile('ada', 'work');
    expect(state.cookies.map(({ value }) => value).sort()).toEqual([SECRETS.lasting, SECRETS.session]);
    expect(await sessions.importProfile('ada', 'copy', state)).toBe(1);
    expect(await sessions.importProfile('ada', 'copy', { cookies: [], origins: [] })).toBe(2);
    expect(await sessions.restoreProfile('ada', 'copy')).toBe(3); // version 1, as a copy
    const lease = await on.leaseOf('copy', 'read-only');
    expect(await found(site, lease)).toEqual(LOGGED_IN);
    await lease.end();
    const file = { cookies: [], origins: [{ origin: 'file:///etc', localStorage: [] }] };
    await expect(sessions.importProfile('ada', 'copy', file)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it('gives a lease without a profile no login', async () => {
    const lease = await on.leaseOf(null);
    expect(await found(site, lease)).toEqual(LOGGED_OUT);
    await lease.end();
  });

  it('deletes a profile with all that was stored, and never wrote a value in the clear', async () => {
    const objects = async () => (await filesOf(join(on.folder, 'profiles'))).length;
    expect(await objects()).toBe(4); // work 1, copy 3
    // What a lease leaves on the disk goes with its runner's folder; those that wait for a lease hold nothing.
    await expect.poll(() => clearIn(join(on.folder, 'runners')), { timeout: 30_000 }).toEqual([]);
    expect((await filesOf(on.folder)).length).toBeGreaterThan(100); // the embedded database's too
    expect(await clearIn(on.folder)).toEqual([]);
    expect(Object.values(SECRETS).filter(value => on.logged().includes(value))).toEqual([]);
    await sessions.deleteProfile('ada', 'copy');
    expect(await objects()).toBe(1);
    for (const name of ['work', 'work']) await sessions.deleteProfile('ada', name);
    expect(await objects()).toBe(0);
    expect(await sessions.listProfiles('ada')).toEqual([]);
    await expect(on.leaseOf('work', 'read-only')).rejects.toMatchObject({ code: 'profile_not_found' });
  });

  /** The files with a value in the clear, and which. */
  const clearIn = async (path: string): Promise<string[]> => {
    const clear: string[] = [];
    for (const file of await filesOf(path)) {
      const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return Buffer.alloc(0); // of a runner that is being removed
        throw error;
      });
      for (const value of Object.values(SECRETS)) if (bytes.includes(value)) clear.push(`${file}: ${value}`);
    }
    return clear;
  };
  const filesOf = async (path: string): Promise<string[]> =>
    (await readdir(path, { withFileTypes: true, recursive: true }))
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name));
});
