import { expect, inject, onTestFinished, test } from 'vitest';
import { openSearch } from '../search.ts';
import { tryHistory } from './generate.ts';
import { live } from './history.ts';
import { proveKills } from './kills.ts';
import { createProofDatabase } from './proof-database.ts';
import { report } from './prove.ts';

const search = openSearch();
const HISTORIES = search.countOf(3_600);
const KILLS = Math.ceil(HISTORIES / 100);

test(`[N2] ${HISTORIES} histories from seed ${search.seed} break no rule`, {
  timeout: 30_000 + HISTORIES * 200,
}, async () => {
  const database = await createProofDatabase(inject('postgresUrl'));
  onTestFinished(() => database.close());
  for (let n = 0; n < HISTORIES; n++) {
    const seed = (search.seed + n) % 2 ** 31;
    const failure = await tryHistory(database, seed);
    expect(failure, failure === null ? '' : report(seed, failure)).toBeNull();
    if (n % 200 === 199) await database.clear();
  }
});

// A claim waits for the lock of its session for a minute, in which the lease of another one, which had the profile, expires.
test('a claim that waited is judged at its end, not at the end of the step that ran beside it', async () => {
  const size = { capacity: 3, userLimit: 2, users: 1, conversations: 3 };
  const setup = { ...size, idle: 0, evicts: false, hibernates: false };
  const database = await createProofDatabase(inject('postgresUrl'));
  onTestFinished(() => database.close());
  const outcomes = new Set<string>();
  for (let n = 0; n < 100 && outcomes.size < 2; n++) {
    const { violations, record } = await live(database, setup, [
      { act: 'ask', a: 0, b: 6_521 },
      { act: 'held', a: 6_482, b: 52 },
    ]);
    expect(violations).toEqual([]);
    const asked = record.steps?.filter(({ act }) => act === 'ask').at(-1);
    outcomes.add(String((asked?.answer as { outcome?: string } | undefined)?.outcome));
  }
  expect([...outcomes].toSorted()).toEqual(['claimed', 'refused']); // the one beside it came first, and after it
});

test(`${KILLS} histories with a controller that is killed at a statement break no rule`, {
  timeout: 60_000 + KILLS * 60_000,
}, async () => {
  const said: string[] = [];
  const run = {
    seed: search.seed,
    count: KILLS,
    isStopped: () => false,
    say: (line: string) => said.push(line),
    lived: () => {},
  };
  const { histories, violations } = await proveKills(inject('postgresUrl'), run);
  expect(violations, said.join('\n')).toBe(0);
  expect(histories).toBe(KILLS);
});
