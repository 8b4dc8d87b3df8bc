import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startPostgresServer } from '../postgres-server.ts';
import { type Failure, tryHistory } from './generate.ts';
import { describeCommand, type Outcome } from './history.ts';
import { proveKills } from './kills.ts';
import { createProofDatabase, type ProofDatabase } from './proof-database.ts';

const QUICK = { histories: 1_500, kills: 12 };
const WHOLE = { histories: 1_000_000, kills: 10_000 };
/** Histories whose rows are removed at once. */
const CLEAR_EACH = 200;
const SAVE_EACH = 500;
const VIOLATIONS_MAX = 5;

const USAGE = `Usage: npm run prove [-- options]
  --quick           ${QUICK.histories} histories and ${QUICK.kills} kills: about a minute
  --histories N     number of histories (default 1000000)
  --seed N          seed of the first history; each next one has the next seed (default 1)
  --slice I/N       every N-th history, from the I-th: N machines share a run
  --kills N         histories with two controller processes, one of which is killed (default 10000)
  --again           forget what an interrupted run of this seed and slice has done
`;

interface Options {
  histories: number;
  seed: number;
  slice: number;
  slices: number;
  kills: number;
  again: boolean;
}

/** The place of a run; one of the same seed, slice and source goes on from here. */
interface Progress {
  source: string;
  /** Histories of this slice that were lived, and steps in them. */
  histories: number;
  steps: number;
  violations: number;
  kills: number;
  /** Answers, by what was asked. */
  answers: Record<string, number>;
}

const PROGRESS = new URL('../../.omicron/proof/', import.meta.url);

/** `npm run prove`; resolves with the exit code. */
export async function prove(args: string[]): Promise<number> {
  const options = readOptions(args);
  if (typeof options === 'string') {
    process.stderr.write(`${options}\n${USAGE}`);
    return 2;
  }
  const { seed, slice, slices, histories, kills } = options;
  const file = new URL(`${seed}-${slice}-of-${slices}.json`, PROGRESS);
  const progress = await readProgress(file, options.again);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  if (progress.histories + progress.kills > 0)
    say(`going on after ${progress.histories} histories and ${progress.kills} kills`);
  const given = process.env.TEST_POSTGRES_URL;
  const server = given ? { url: given, stop: async () => {} } : await startServer();
  let stopped = false;
  const stop = () => (stopped = true);
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const run: Run = { isStopped: () => stopped, save: () => save(file, progress), say };
  try {
    await runAll(server.url, options, progress, run).catch(error => {
      if (!stopped) throw error; // Ctrl-C ends the database too
    });
    await run.save();
    say(summary(progress));
    if (stopped) say(`stopped; the same command goes on (seed ${seed}, of ${histories} histories and ${kills} kills)`);
    say(`${progress.histories + progress.kills} histories, ${progress.violations} violations`);
    return progress.violations > 0 || stopped ? 1 : 0;
  } finally {
    await server.stop();
  }
}

async function runAll(server: string, options: Options, progress: Progress, run: Run): Promise<void> {
  const database = await createProofDatabase(server);
  await liveAll(database, options, shareOf(options), progress, run);
  await database.close();
  const count = Math.ceil(options.kills / options.slices) - progress.kills;
  if (run.isStopped() || count <= 0 || progress.violations >= VIOLATIONS_MAX) return;
  let saved = Promise.resolve();
  const lived = (isBroken: boolean) => {
    progress.kills += 1;
    progress.violations += Number(isBroken);
    saved = saved.then(run.save);
  };
  await proveKills(server, { ...run, seed: options.seed + progress.kills, count, lived });
  await saved;
}

const startServer = () =>
  startPostgresServer({
    initdb: ['--no-sync'],
    server: [
      ...['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=200', 'jit=off'],
      ...['deadlock_timeout=200ms'],
    ].flatMap(setting => ['-c', setting]),
  });

function readOptions(args: string[]): Options | string {
  const number = (name: string, text: string | undefined, usual: number): number => {
    if (text === undefined) return usual;
    if (!/^\d{1,10}$/.test(text)) throw new Error(`--${name} must be a whole number, and is ${text}.`);
    return Number(text);
  };
  try {
    const { values } = parseArgs({
      args,
      options: {
        quick: { type: 'boolean' },
        histories: { type: 'string' },
        seed: { type: 'string' },
        slice: { type: 'string' },
        kills: { type: 'string' },
        again: { type: 'boolean' },
      },
    });
    const usual = values.quick === true ? QUICK : WHOLE;
    const [, slice = '1', slices = '1'] = /^(\d{1,4})\/(\d{1,4})$/.exec(values.slice ?? '1/1') ?? [];
    if (values.slice !== undefined && !(Number(slice) >= 1 && Number(slice) <= Number(slices)))
      throw new Error(`--slice must be 1/N to N/N, and is ${values.slice}.`);
    return {
      histories: number('histories', values.histories, usual.histories),
      seed: number('seed', values.seed, 1),
      slice: Number(slice),
      slices: Number(slices),
      kills: number('kills', values.kills, usual.kills),
      again: values.again === true || values.quick === true,
    };
  } catch (error) {
    return (error as Error).message;
  }
}

const shareOf = ({ histories, slice, slices }: Options): number => Math.floor((histories - slice) / slices) + 1;

interface Run {
  isStopped(): boolean;
  save(): Promise<void>;
  say(line: string): void;
}

async function liveAll(
  database: ProofDatabase,
  { seed, slice, slices }: Options,
  share: number,
  progress: Progress,
  run: Run,
): Promise<void> {
  const startedMs = performance.now();
  const before = progress.histories;
  const seen = (outcome: Outcome) => count(progress, outcome);
  while (progress.histories < share && !run.isStopped() && progress.violations < VIOLATIONS_MAX) {
    const own = seed + slice - 1 + progress.histories * slices;
    const failure = await tryHistory(database, own, { seen });
    progress.histories += 1;
    if (failure !== null && !run.isStopped()) {
      progress.violations += 1;
      run.say(report(own, failure));
    }
    if (progress.histories % CLEAR_EACH === 0) await database.clear();
    if (progress.histories % SAVE_EACH !== 0) continue;
    await run.save();
    const perSecond = ((progress.histories - before) / (performance.now() - startedMs)) * 1_000;
    if (progress.histories % (SAVE_EACH * 10) === 0)
      run.say(
        `${progress.histories} of ${share} histories, ${progress.violations} violations, ${perSecond.toFixed(0)} a second`,
      );
  }
  await run.save();
}

function count(progress: Progress, { record }: Outcome): void {
  const steps = record.steps ?? [];
  progress.steps += steps.length;
  for (const { act, answer } of steps) {
    const said = answer as { outcome?: string; code?: string } | null | undefined;
    const name = [act, said?.outcome, said?.code].filter(part => typeof part === 'string').join(' ');
    progress.answers[name] = (progress.answers[name] ?? 0) + 1;
  }
}

/** The seed, the shortest history that breaks the same rule, and its steps. */
export function report(seed: number, { setup, commands, outcome }: Failure): string {
  const [violation] = outcome.violations;
  const steps = (outcome.record.steps ?? []).filter(({ act }) => act !== 'recover');
  const startMs = steps[0]?.at ?? 0;
  const brief = (value: unknown) => (value === undefined ? '' : JSON.stringify(value).slice(0, 240));
  return [
    `violation with seed ${seed}: ${violation?.rule}`,
    `  ${violation?.detail} (step ${violation?.step})`,
    `  repeat it with: npm run prove -- --seed ${seed} --histories 1 --kills 0 --again`,
    `  the shortest history found, ${commands.length} commands in ${JSON.stringify(setup)}:`,
    `    ${commands.map(describeCommand).join(', ')}`,
    ...steps.map(
      ({ step, at, act, about, answer }) => `  ${step} +${at - startMs} ms ${act} ${brief(about)} -> ${brief(answer)}`,
    ),
    ...outcome.record.errors.map(error => `  error: ${error}`),
  ].join('\n');
}

function summary({ histories, steps, kills, answers }: Progress): string {
  const of = (name: string) => answers[name] ?? 0;
  return [
    `${histories} histories of ${(steps / Math.max(1, histories)).toFixed(0)} steps: ${of('ask claimed')} claims, ${of('redeem redeemed')} redemptions,`,
    `${of('ready')} leases made ready, ${of('ask refused capacity_exceeded')} places in the line, ${of('hibernate')} hibernations,`,
    `${of('snapshot')} restores, ${of('save')} saves of profiles; ${kills} histories with a killed controller`,
  ].join(' ');
}

async function save(file: URL, progress: Progress): Promise<void> {
  await mkdir(PROGRESS, { recursive: true });
  const written = new URL(`${file.href}.new`);
  await writeFile(written, JSON.stringify(progress, null, 2));
  await rename(written, file);
}

async function readProgress(file: URL, again: boolean): Promise<Progress> {
  const source = await digestOfSource();
  const nothing: Progress = { source, histories: 0, steps: 0, violations: 0, kills: 0, answers: {} };
  if (again) return nothing;
  const text = await readFile(file, 'utf8').catch(() => null);
  const found = text === null ? null : (JSON.parse(text) as Progress);
  return found?.source === source && found.violations === 0 ? found : nothing;
}

/** Covers all that a history runs: a run that goes on with other source would count what was not tried. */
async function digestOfSource(): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of ['../../controller/store', '../../controller/lease', '.']) {
    const root = fileURLToPath(new URL(`${folder}/`, import.meta.url));
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const files = entries.filter(each => each.isFile()).map(each => `${each.parentPath}/${each.name}`);
    for (const path of files.sort()) hash.update(dirname(path)).update(await readFile(path));
  }
  return hash.digest('hex').slice(0, 16);
}
