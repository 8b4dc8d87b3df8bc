import { startPair } from './killed-pair.ts';

/** Pairs of controllers at once: most of a history is waiting for a claim to lapse. */
const LANES = 3;

interface Killing {
  readonly seed: number;
  readonly count: number;
  isStopped(): boolean;
  say(line: string): void;
  /** A history was lived. */
  lived(isBroken: boolean): void;
}

/** Histories with two controller processes on one database and one machine, of which one is killed at a statement. */
export async function proveKills(server: string, run: Killing): Promise<{ histories: number; violations: number }> {
  let next = run.seed;
  let histories = 0;
  let violations = 0;
  let reached = 0;
  const lane = async () => {
    const pair = await startPair(server);
    try {
      while (next < run.seed + run.count && !run.isStopped() && violations === 0) {
        const seed = next++;
        const { broken, atFailpoint, failpoint } = await pair.live(seed);
        if (run.isStopped()) break;
        histories += 1;
        run.lived(broken.length > 0);
        if (atFailpoint) reached += 1;
        if (broken.length > 0) {
          violations += 1;
          run.say(
            [
              `violation with seed ${seed}, one controller killed ${failpoint.at} ${failpoint.statement} + ${failpoint.skip}:`,
              ...broken.map(each => `  ${each}`),
              `  repeat it with: npm run prove -- --seed ${seed} --histories 0 --kills 1 --again`,
            ].join('\n'),
          );
        }
        if (histories % 100 === 0) run.say(`${histories} of ${run.count} kills, ${reached} of them at their statement`);
      }
    } finally {
      await pair.close();
    }
  };
  await Promise.all(Array.from({ length: Math.min(LANES, run.count) }, lane));
  return { histories, violations };
}
