import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Finished, newFolder, ROOT, shell } from '../local/machine.ts';

/** A program of Python that runs. */
export interface PythonProgram {
  readonly pid: number;
  /** Its standard error so far. */
  stderr(): Promise<string>;
  readonly finished: Promise<Finished>;
}

/** A Python that has the libraries of its programs loaded, and forks for each program; one runs at a time. */
export interface WarmPython extends AsyncDisposable {
  /** Starts `python ARGS`. */
  start(args: readonly string[], cwd?: string): Promise<PythonProgram>;
}

export async function warmPython(
  python: string,
  modules: readonly string[],
  env: Record<string, string>,
): Promise<WarmPython> {
  const folder = await newFolder();
  const child = spawn(python, [join(ROOT, 'test', 'examples', 'warm_python.py'), ...modules], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...shell(), ...env },
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const answer = async (): Promise<number> => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${python} has exited: its modules are ${modules.join(', ')}`);
    return Number(value);
  };
  let count = 0;
  return {
    async start(args, cwd = ROOT) {
      const [stdout, stderr] = ['out', 'err'].map(stream => join(folder, `${count}.${stream}`)) as [string, string]; // of two names
      count += 1;
      child.stdin.write(`${JSON.stringify({ args, cwd, stdout, stderr })}\n`);
      const pid = await answer();
      const finished = answer().then(async code => {
        const [out, err] = await Promise.all([readFile(stdout, 'utf8'), readFile(stderr, 'utf8')]);
        return { code, stdout: out, stderr: err };
      });
      return { pid, finished, stderr: () => readFile(stderr, 'utf8').catch(() => '') };
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exited;
    },
  };
}
