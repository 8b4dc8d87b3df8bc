import { pino } from 'pino';
import { expect, it } from 'vitest';
import { reap, retainArtifacts } from '../../../controller/loops/reap.ts';
import type { DueArtifact, Maintenance, Retention } from '../../../controller/store/maintenance.ts';

const log = pino({ level: 'silent' });
const range = (count: number) => Array.from({ length: count }, (_, n) => `${n}`);

/** Rows that are due, taken in batches. */
function due(rows: { expired?: number; stuck?: number; artifacts?: string[] }) {
  const left = { expired: range(rows.expired ?? 0), stuck: range(rows.stuck ?? 0), artifacts: rows.artifacts ?? [] };
  const batches: number[] = [];
  const take = (from: string[], most: number) => {
    const batch = from.splice(0, most);
    batches.push(batch.length);
    return batch;
  };
  const maintenance = {
    expire: async (most: number) => take(left.expired, most),
    failStuckStarts: async (most: number) => take(left.stuck, most),
    expiredArtifacts: async (_retention: Retention, most: number, after: DueArtifact | null) => {
      const batch = left.artifacts.filter(id => after === null || Number(id) > Number(after.id)).slice(0, most);
      batches.push(batch.length);
      return batch.map(id => ({ id, uri: id, at: id }));
    },
    markExpired: async (id: string) => void left.artifacts.splice(left.artifacts.indexOf(id), 1),
  } as unknown as Maintenance; // the rest is not called
  return { maintenance, batches, left };
}

it('[O18] ends every lease that is due in one round, in batches', async () => {
  const { maintenance, batches } = due({ expired: 450, stuck: 201 });
  expect(await reap({ maintenance, log })).toBe(450);
  expect(batches).toEqual([200, 200, 50, 200, 1]);
});

it('asks once more after a whole batch, and not after a smaller one', async () => {
  const { maintenance, batches } = due({ expired: 200 });
  expect(await reap({ maintenance, log })).toBe(200);
  expect(batches).toEqual([200, 0, 0]);
});

const store = (remove: (uri: string) => Promise<boolean>) => ({
  remove,
  erase: async () => {},
  read: async () => null,
  sign: async () => null,
  survey: async () => null,
});

it('[S4] removes every artifact that is past its retention in one round', async () => {
  const { maintenance, batches, left } = due({ artifacts: range(401) });
  await retainArtifacts({ maintenance, artifacts: store(async () => true), retention: { videos: 7, pages: 7 }, log });
  expect(batches).toEqual([200, 200, 1]);
  expect(left.artifacts).toEqual([]);
});

it('[S4] looks at each artifact once in a round, whatever could not be removed or is still there', async () => {
  const { maintenance, batches, left } = due({ artifacts: range(300) });
  const looked: string[] = [];
  const artifacts = store(async uri => {
    looked.push(uri);
    if (uri === '1') throw new Error('the folder is read-only');
    return uri === '0' || uri === '299';
  });
  await retainArtifacts({ maintenance, artifacts, retention: { videos: 7, pages: 7 }, log });
  expect(batches).toEqual([200, 100]);
  expect(looked).toEqual(range(300));
  expect(left.artifacts).toEqual(range(300).slice(1, -1));
});
