import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../local/free-port.ts';
import { eventually } from '../eventually.ts';
import { processStat } from '../process-stat.ts';
import type { Service } from './service.ts';

const ROOT = join(import.meta.dirname, '../..');
const READY_MS = 60_000;
/** Node's share of the controller's 512 MiB, as in its pod. */
const HEAP = '--max-old-space-size=259';

export interface Program {
  readonly name: string;
  readonly child: ChildProcess;
  readonly port: number;
}

/** A controller in a process of its own; behind its Service once it is ready. */
export async function startController(
  name: string,
  folder: string,
  environment: Record<string, string>,
  service: Service,
): Promise<Program> {
  const port = await freePort();
  const log = createWriteStream(join(folder, `${name}.log`), { flags: 'a' });
  const child = spawn(
    process.execPath,
    [HEAP, '--disable-warning=ExperimentalWarning', join(ROOT, 'controller/main.ts')],
    {
      env: { ...base(), ...environment, OMICRON_PORT: String(port), OMICRON_HOST: '127.0.0.1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  child.stdout.pipe(log);
  child.stderr.pipe(log);
  const ready = async () => {
    if (child.exitCode !== null) throw new Error(`${name} exited with ${child.exitCode}; see ${name}.log`);
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    return answer?.ok === true;
  };
  await eventually(`${name} is ready`, ready, READY_MS);
  service.ports.add(port);
  return { name, child, port };
}

/** SIGTERM, once no new connection leads to it. */
export async function stopController({ child, port }: Program, service: Service): Promise<void> {
  service.ports.delete(port);
  const exited = once(child, 'exit');
  if (child.exitCode === null) child.kill('SIGTERM');
  await exited;
}

export async function startEgress(name: string, folder: string, environment: Record<string, string>): Promise<Program> {
  const log = createWriteStream(join(folder, `${name}.log`), { flags: 'a' });
  const child = fork(join(ROOT, 'egress/main.ts'), [], {
    env: {
      ...base(),
      ...environment,
      OMICRON_EGRESS_HOST: '127.0.0.1',
      OMICRON_EGRESS_PORT: '0',
      OMICRON_EGRESS_ADMIN_PORT: '0',
    },
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  child.stdout?.pipe(log);
  child.stderr?.pipe(log);
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]; // EgressReady
  return { name, child, port };
}

const base = () => ({ PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/tmp' });

/** CPU seconds and resident megabytes of a process; null: it has ended. */
export function usageOf(pid: number): { cpu: number; mb: number } | null {
  const stat = processStat(pid);
  return stat === undefined ? null : { cpu: stat.cpu, mb: Math.round(stat.rss / 1e6) };
}
