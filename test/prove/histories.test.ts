import { expect, inject, onTestFinished, test } from 'vitest';
import { openSearch } from '../search.ts';
import { tryHistory } from './generate.ts';
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
