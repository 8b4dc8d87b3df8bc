import { expect, test } from 'vitest';
import type { CallLease } from '../../../runner/calls/call-lease.ts';
import { keepAlive } from '../../../runner/calls/keep-alive.ts';
import { answering, codeOf, stageCall, text, unreached } from './stage-call.ts';

function lease(isHibernated: boolean) {
  const uses: string[] = [];
  const use = (what: string) => () => {
    uses.push(`${what} begins`);
    return () => uses.push(`${what} ends`);
  };
  const parts = {
    ...{
      lifetime: { callStarted: use('call') },
      freezer: { use: use('browser') },
      pages: { callStarted: use('page') },
    },
    isHibernated: async () => isHibernated,
    recordingReady: Promise.resolve(),
  };
  return { uses, stage: keepAlive(parts as unknown as CallLease) }; // as much of a lease as the stage reads
}

test('a call counts as activity until it ends, however it ends', async () => {
  const { stage, uses } = lease(false);
  await stage(stageCall(), answering(text('done')));
  await expect(stage(stageCall(), unreached)).rejects.toThrow();
  expect(uses.filter(use => use.endsWith('begins'))).toHaveLength(6);
  expect(uses.filter(use => use.endsWith('ends'))).toHaveLength(6);
});

test('a call that hibernation overtook is answered so', async () => {
  const { stage, uses } = lease(true);
  expect(codeOf(await stage(stageCall(), unreached))).toBe('lease_ended');
  expect(uses).toContain('browser ends');
});
