import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { eventually } from '../eventually.ts';
import { inNetworkOf } from './node.ts';

const run = promisify(execFile);

/** A network of one container and this machine, as a bridge of docker would be. */
export const NETWORK = { machine: '10.245.77.1', container: '10.245.77.2' } as const;
const LINK = 'omicron-local';

export interface ContainerOptions {
  /** The cluster's tool. */
  readonly tool: string;
  readonly image: string;
  readonly name: string;
  /** A folder of this machine. */
  readonly data: string;
  readonly seccompProfile: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface Container {
  /** Its first process, as this machine sees it. */
  readonly pid: number;
  /** Runs a command in it; answers what it prints. */
  exec(...command: string[]): Promise<string>;
  /** Sends SIGTERM and answers the exit code. */
  stop(): Promise<number>;
  /** Its output. */
  said(): string;
  remove(): Promise<void>;
}

/** Runs an image under the containerd of the cluster beside the checkout, as `docker run -v DATA:/data` would. */
export async function runContainer({
  tool,
  image,
  name,
  data,
  seccompProfile,
  env,
}: ContainerOptions): Promise<Container> {
  const ctr = (...args: string[]) => run(tool, ['ctr', ...args]);
  const remove = async () => {
    await ctr('tasks', 'rm', '--force', name).catch(() => undefined); // it has ended
    await ctr('containers', 'rm', name).catch(() => undefined);
  };
  await remove(); // of a run that was cut short
  const child = execFile(tool, [
    ...['ctr', 'run', '--mount', `type=bind,src=${data},dst=/data,options=rbind:rw`],
    ...['--seccomp', '--seccomp-profile', seccompProfile],
    ...Object.entries(env).flatMap(([variable, value]) => ['--env', `${variable}=${value}`]),
    ...[image, name],
  ]);
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (text: string) => {
      said += text;
    });
  const { promise: exited, resolve } = Promise.withResolvers<number>();
  child.once('exit', code => resolve(code ?? 1));
  const pid = await eventually('the container to run', async () => {
    if (child.exitCode !== null) throw new Error(`it has exited: ${said}`);
    const { stdout } = await ctr('tasks', 'ls');
    return Number(new RegExp(`^${name}\\s+(\\d+)\\s+RUNNING`, 'm').exec(stdout)?.[1] ?? 0);
  });
  await link(pid);
  return {
    pid,
    said: () => said,
    exec: async (...command) => (await ctr('tasks', 'exec', '--exec-id', randomUUID(), name, ...command)).stdout,
    async stop() {
      await ctr('tasks', 'kill', '--signal', 'SIGTERM', name);
      return exited;
    },
    remove,
  };
}

async function link(pid: number): Promise<void> {
  await run('ip', ['link', 'delete', LINK]).catch(() => undefined); // it goes with the container's network
  await run('ip', ['link', 'add', LINK, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid)]);
  await run('ip', ['address', 'add', `${NETWORK.machine}/30`, 'dev', LINK]);
  await run('ip', ['link', 'set', LINK, 'up']);
  await inNetworkOf(pid, 'ip', 'address', 'add', `${NETWORK.container}/30`, 'dev', 'eth0');
  await inNetworkOf(pid, 'ip', 'link', 'set', 'eth0', 'up');
}
