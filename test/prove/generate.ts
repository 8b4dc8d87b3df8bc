import fc from 'fast-check';
import { type ActName, type Command, WEIGHTS } from './acts.ts';
import { live, type Outcome } from './history.ts';
import type { ProofDatabase } from './proof-database.ts';
import type { Setup } from './record.ts';

/** Commands of a history, at most; about half of them find something to do. */
const COMMANDS_MAX = 90;
const NUMBERS = 9_999;
/** For this long a shorter history is looked for that breaks the same rule. */
const SHRINK_SECONDS = 60;

const setups: fc.Arbitrary<Setup> = fc.record({
  capacity: fc.integer({ min: 1, max: 3 }),
  userLimit: fc.integer({ min: 1, max: 3 }),
  users: fc.integer({ min: 1, max: 4 }),
  conversations: fc.integer({ min: 1, max: 3 }),
  idle: fc.integer({ min: 0, max: 2 }),
  evicts: fc.boolean(),
  hibernates: fc.boolean(),
});

const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.record({
    act: fc.oneof(
      ...Object.entries(WEIGHTS).map(([act, weight]) => ({ weight, arbitrary: fc.constant(act as ActName) })),
    ),
    a: fc.integer({ min: 0, max: NUMBERS }),
    b: fc.integer({ min: 0, max: NUMBERS }),
  }),
  { minLength: 0, maxLength: COMMANDS_MAX, size: 'max' },
);

export interface Failure {
  readonly setup: Setup;
  readonly commands: readonly Command[];
  readonly outcome: Outcome;
}

/** Lives the history of this seed; `null`: it broke no rule. Otherwise the shortest one that breaks the same rule. */
export async function tryHistory(
  database: ProofDatabase,
  seed: number,
  { seen, shrinkSeconds = SHRINK_SECONDS }: { seen?: (outcome: Outcome) => void; shrinkSeconds?: number } = {},
): Promise<Failure | null> {
  let failure: Failure | null = null;
  let lived: Promise<void> = Promise.resolve();
  const tryOnce = async (setup: Setup, list: readonly Command[]): Promise<void> => {
    const outcome = await live(database, setup, list);
    seen?.(outcome);
    const rule = failure?.outcome.violations[0]?.rule;
    const found = outcome.violations.filter(each => rule === undefined || each.rule === rule);
    if (found.length === 0) return;
    failure = { setup, commands: list, outcome: { ...outcome, violations: found } };
    throw new Error(found[0]?.rule);
  };
  const property = fc.asyncProperty(fc.noBias(setups), fc.noBias(commands), (setup, list) => {
    lived = tryOnce(setup, list);
    return lived;
  });
  await fc.check(property, { seed, numRuns: 1, interruptAfterTimeLimit: shrinkSeconds * 1_000 });
  await lived.catch(() => {}); // the one that the time limit interrupts goes on, and must not meet the next history
  return failure;
}
