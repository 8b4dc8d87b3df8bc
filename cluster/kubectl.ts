import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const beside = fileURLToPath(new URL('../../shared/cluster/', import.meta.url));

/** The cluster that KUBECONFIG names, else the one beside the checkout. Throws where there is neither. */
function environment(): NodeJS.ProcessEnv {
  if (process.env.KUBECONFIG) return process.env;
  if (!existsSync(`${beside}cluster`)) throw new Error('No cluster found. Set KUBECONFIG.');
  const lines = execFileSync('bash', ['-c', `eval "$('${beside}cluster' env)" && env -0`], { encoding: 'utf8' });
  return Object.fromEntries(
    lines
      .split('\0')
      .filter(line => line.includes('='))
      .map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

/** A file of the cluster beside the checkout, if it exists. */
export const besideCluster = (file: string): string | undefined =>
  existsSync(`${beside}${file}`) ? `${beside}${file}` : undefined;

/** The tool of the cluster beside the checkout, if that is the one in use. */
export function localTool(): string | undefined {
  const tool = besideCluster('cluster');
  if (tool === undefined) return undefined;
  const own = execFileSync('bash', ['-c', `unset KUBECONFIG; eval "$('${tool}' env)" && printf %s "$KUBECONFIG"`], {
    encoding: 'utf8',
  });
  return clusterEnvironment().KUBECONFIG === own ? tool : undefined;
}

export interface CommandResult {
  readonly ok: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

let env: NodeJS.ProcessEnv | undefined;

/** The environment in which a program finds the cluster and kubectl. */
export function clusterEnvironment(): NodeJS.ProcessEnv {
  env ??= environment();
  return env;
}

/** Runs kubectl; an error of the server is an answer, not an exception. */
export function tryKubectl(args: readonly string[], input?: string): Promise<CommandResult> {
  return new Promise(resolve => {
    const child = execFile(
      'kubectl',
      [...args],
      { env: clusterEnvironment(), encoding: 'utf8', maxBuffer: 64 * 1024 ** 2, timeout: 120_000 },
      (error, stdout, stderr) => resolve({ ok: error === null, stdout, stderr }),
    );
    child.stdin?.end(input ?? '');
  });
}

/** Runs kubectl; throws its error output when it fails. */
export async function kubectl(args: readonly string[], input?: string): Promise<string> {
  const { ok, stdout, stderr } = await tryKubectl(args, input);
  if (!ok) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** The output of kubectl, as bytes. */
export async function kubectlBytes(args: readonly string[]): Promise<Buffer> {
  const { stdout } = await promisify(execFile)('kubectl', [...args], {
    env: clusterEnvironment(),
    encoding: 'buffer',
    maxBuffer: 256 * 1024 ** 2,
  });
  return stdout;
}

/** Several objects as kubectl reads them. */
export const stream = (list: readonly object[]): string => list.map(each => JSON.stringify(each)).join('\n');

export const apply = (list: readonly object[]): Promise<string> =>
  kubectl(['apply', '--server-side', '--force-conflicts', '--field-manager=omicron-cluster', '-f', '-'], stream(list));
