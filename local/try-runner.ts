import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type RunnerHealth, runnerHealth } from '../contract/assignment.ts';
import { ENV } from '../contract/names.ts';
import { signingKey } from '../contract/tokens.ts';

/** TypeScript in a clone, JavaScript in a published package. */
const RUNNER = fileURLToPath(
  new URL(`../runner/main.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url),
);
const POLL_MS = 50;
const STOP_MS = 5_000;

/** Starts a runner that is never leased and returns its health: warm, or failed with the reason. Leaves nothing behind. */
export async function tryRunner(
  environment: Record<string, string | undefined>,
  withinSeconds: number,
): Promise<RunnerHealth | { phase: 'silent'; output: string }> {
  const home = await mkdtemp(join(tmpdir(), 'omicron-doctor-'));
  const portFile = join(home, 'port');
  const key = signingKey(JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })));
  const child = spawn(process.execPath, [RUNNER], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...environment,
      [ENV.runnerId]: randomUUID(),
      [ENV.controllerUrl]: 'http://127.0.0.1:9', // the discard port: an unleased runner needs no controller
      [ENV.controllerJwks]: JSON.stringify({ keys: [key.publicJwk] }),
      [ENV.runnerHost]: '127.0.0.1',
      [ENV.runnerPort]: '0',
      [ENV.portFile]: portFile,
      [ENV.outputDir]: join(home, 'output'),
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-2_000);
    });
  const exited = new Promise<void>(resolve => child.once('close', () => resolve()).once('error', () => resolve()));
  const deadline = AbortSignal.timeout(withinSeconds * 1000);
  try {
    while (!deadline.aborted && child.exitCode === null) {
      const port = await readFile(portFile, 'utf8').catch(() => null);
      const health = port === null ? null : await healthOf(`http://127.0.0.1:${port}/healthz`, deadline);
      if (health?.phase === 'warm' || health?.phase === 'failed') return health;
      await sleep(POLL_MS);
    }
    return { phase: 'silent', output: output.trim() };
  } finally {
    child.kill('SIGTERM');
    const killed = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exited;
    clearTimeout(killed);
    await rm(home, { recursive: true, force: true });
  }
}

const healthOf = async (url: string, signal: AbortSignal): Promise<RunnerHealth | null> => {
  try {
    return runnerHealth.parse(await (await fetch(url, { signal })).json());
  } catch {
    return null; // not listening yet
  }
};
