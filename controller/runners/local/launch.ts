import { type ChildProcess, spawn } from 'node:child_process';
import { ENV, RUNNER_COMMAND } from '../../../contract/names.ts';
import type { RunnerFolder } from './folder.ts';
import { type ProcessId, processId } from './process.ts';

export interface LaunchOptions {
  runnerId: string;
  /** File of the runner. */
  runner: string;
  /** Public keys with which it verifies assignments: a JWKS, as JSON. */
  jwks: string;
  environment: Record<string, string>;
  /** Its standard input: a secret that neither its environment nor a file may hold. */
  input: string | undefined;
  /** Called with an exit code or the name of a signal. */
  onExit: (how: string) => void;
}

/** Starts a runner in its folder and records its process. */
export async function launchRunner(home: RunnerFolder, options: LaunchOptions): Promise<ProcessId> {
  const logFile = await home.openLog();
  try {
    const child = spawn(process.execPath, [...RUNNER_COMMAND.flags, options.runner], {
      cwd: home.path,
      detached: true, // its own process group: it outlives this process, and can be ended whole
      stdio: [options.input === undefined ? 'ignore' : 'pipe', logFile.fd, logFile.fd],
      env: {
        ...options.environment,
        ...RUNNER_COMMAND.env,
        [ENV.runnerId]: options.runnerId,
        [ENV.controllerJwks]: options.jwks,
        [ENV.runnerHost]: '127.0.0.1',
        [ENV.runnerPort]: '0',
        [ENV.portFile]: home.portFile,
        [ENV.outputDir]: home.output,
      },
    });
    // A runner that has ended before it read says why in its log.
    child.stdin?.on('error', () => undefined).end(options.input);
    child.on('exit', (code, signal) => options.onExit(signal ?? `exit code ${code}`));
    const id = processId(await pidOf(child));
    await home.writeProcess(id);
    child.unref();
    return id;
  } finally {
    await logFile.close();
  }
}

async function pidOf(child: ChildProcess): Promise<number> {
  await new Promise<void>((resolve, reject) => child.once('spawn', resolve).once('error', reject));
  if (child.pid === undefined) throw new Error('the runner has no process id');
  return child.pid;
}
