import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { killAll } from '../../controller/runners/local/process.ts';
import { processTreeOfProc } from '../../process/process-tree.ts';
import { eventually } from '../eventually.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BIN = join(ROOT, 'cli', 'bin.js');

const USERS = [
  ...['PATH', 'HOME', 'TMPDIR', 'NODE_EXTRA_CA_CERTS', 'NODE_COMPILE_CACHE'],
  ...['OMICRON_CHROMIUM', 'OMICRON_FFMPEG', 'OMICRON_CHROMIUM_SANDBOX'],
];

/** A user's environment, without the test's own settings. */
export const shell = (): Record<string, string> =>
  Object.fromEntries(
    USERS.flatMap(name => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );

export const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'omicron-client-'));

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** After this a command is killed, so that it does not outlive its test. */
const COMMAND_MS = 200_000;

/** Runs a command to its end. */
export async function run(
  command: string,
  args: string[],
  options: { env?: Record<string, string>; input?: string; cwd?: string } = {},
): Promise<Finished> {
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd: options.cwd ?? ROOT,
    env: { ...shell(), ...options.env },
    timeout: COMMAND_MS,
    killSignal: 'SIGTERM',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => {}); // a command that does not read closes it
  child.stdin.end(options.input ?? '');
  const [code] = (await once(child, 'close')) as [number | null]; // documented arguments of the event
  return { code, stdout, stderr };
}

/** Runs `omicron-browser`; its output is piped, so it is JSON. */
export const command = (
  args: string[],
  options: { env?: Record<string, string>; input?: string } = {},
): Promise<Finished> => run(process.execPath, [BIN, ...args], options);

export interface Up {
  url: string;
  folder: string;
  pid: number;
  /** Everything it printed. */
  said(): string;
  /** Sends the signal and answers the exit code. */
  end(signal: NodeJS.Signals): Promise<number | null>;
  /** Kills what is left of it and deletes its folder. */
  dispose(): Promise<void>;
}

/** `omicron-browser up` as a process of its own, perhaps of another Node.js and another user. */
export async function up(
  folder: string,
  env: Record<string, string> = {},
  { node = process.execPath, uid, args = [] }: { node?: string; uid?: number; args?: string[] } = {},
): Promise<Up> {
  const child = spawn(node, [BIN, '--folder', folder, 'up', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...shell(), ...env },
    ...(uid !== undefined && { uid, gid: uid }),
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const exited = once(child, 'exit').then(([code]) => code as number | null); // documented arguments of the event
  const url = await eventually(
    'the stack to listen',
    async () => {
      if (child.exitCode !== null) throw new Error(`up has exited: ${said}`);
      return /listens at (\S+);/.exec(said)?.[1];
    },
    60_000,
  ).catch(error => {
    child.kill('SIGTERM'); // it takes its runners along
    throw error;
  });
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return exited;
  };
  return {
    url,
    folder,
    pid: child.pid ?? 0,
    said: () => said,
    end,
    async dispose() {
      await end('SIGKILL');
      for (const pid of await runnerPids(folder)) killAll(processTree(pid));
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** The process of a runner, as the data folder of its controller says. */
export const runnerPid = async (folder: string, runnerId: string): Promise<number> =>
  Number(JSON.parse(await readFile(join(folder, 'runners', runnerId, 'process.json'), 'utf8')).pid);

/** Processes of the runners that a stack's folder knows. */
export async function runnerPids(folder: string): Promise<number[]> {
  const ids = await readdir(join(folder, 'runners')).catch(() => []);
  const pids = await Promise.all(ids.map(id => runnerPid(folder, id).catch(() => null)));
  return pids.filter(pid => pid !== null);
}

/** The ids of the process and of everything it started. */
export const processTree = (root: number): number[] => (processTreeOfProc(root) ?? []).map(({ pid }) => pid);

/** Decodes the whole file and returns its number of frames; throws what the decoder reports. */
export async function framesOf(path: string): Promise<number> {
  const args = ['-v', 'error', '-count_frames', '-select_streams', 'v:0', '-show_entries', 'stream=nb_read_frames'];
  const { stdout, stderr } = await promisify(execFile)('ffprobe', [...args, '-of', 'csv=p=0', path]);
  if (stderr.trim() !== '') throw new Error(`${path} does not play: ${stderr}`);
  return Number(stdout);
}
