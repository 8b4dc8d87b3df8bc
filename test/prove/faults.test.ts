import { expect, inject, onTestFinished, test } from 'vitest';
import { weaken } from '../controller/weaken.ts';
import { openSearch } from '../search.ts';
import { FAULTS, ruleTexts } from './faults.ts';
import { tryHistory } from './generate.ts';
import { createProofDatabase } from './proof-database.ts';
import { report } from './prove.ts';

const search = openSearch();
/** The slowest fault needs a third of it. */
const HISTORIES_MAX = 6_000;
const SHRINK_SECONDS = 1;

test.each(search.sliceOf(FAULTS))(
  'the histories find it when $name',
  async fault => {
    const database = await createProofDatabase(inject('postgresUrl'));
    onTestFinished(() => database.close());
    const [first] = database.connections;
    if (first === undefined) throw new Error('no connection');
    await weaken(first, fault.function, fault.from, fault.to);
    for (let seed = 1; seed <= HISTORIES_MAX; seed++) {
      const failure = await tryHistory(database, seed, { shrinkSeconds: SHRINK_SECONDS });
      if (seed % 200 === 0) await database.clear();
      if (failure === null) continue;
      console.log(`${fault.name}: history ${seed}, shrunk to ${failure.commands.length} commands`);
      expect(ruleTexts(fault), report(seed, failure)).toContain(failure.outcome.violations[0]?.rule);
      return;
    }
    throw new Error(`not found in ${HISTORIES_MAX} histories`);
  },
  240_000,
);
