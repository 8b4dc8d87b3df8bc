import { generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ENV, RUNNER_COMMAND, runnerTempName } from '../../../contract/names.ts';
import { signingKey } from '../../../contract/tokens.ts';
import { type LocalRunners, localRunners } from '../../../controller/runners/local/provider.ts';
import { pickVariables } from '../../../process/environment.ts';
import { eventually } from '../../eventually.ts';
import { providerContext } from '../../fakes/provider-context.ts';

const { publicJwk } = signingKey(JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })));
export const jwks = JSON.stringify({ keys: [publicJwk] });
/** Variables that a controller's main.ts would pass on. */
const inherited = pickVariables(process.env, RUNNER_COMMAND.inherits);
export const MIB = 1024 * 1024;

/** Agents reach a process of this machine as the controller does. */
export const atItself = (_id: string, endpoint: string) => ({ mcpUrl: `${endpoint}/mcp`, workload: null });

/** Ids of processes whose environment names this runner. */
export async function processesOf(runnerId: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter(name => /^\d+$/.test(name))) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if ((environment + line).includes(runnerId)) found.push(Number(pid));
  }
  return found;
}

/** Real runners with a real browser, in a folder of the test. */
export async function realRunners(change: Partial<LocalRunners> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'omicron-local-'));
  const root = join(folder, 'runners');
  let exits = 0;
  const another = (more: Partial<LocalRunners> = {}) =>
    localRunners({
      ...providerContext({ jwks, onChange: () => exits++ }),
      root,
      publicUrl: undefined,
      artifactStore: pathToFileURL(join(folder, 'artifacts')).href,
      environment: inherited,
      memoryBytesMax: 4_096 * MIB,
      ...change,
      ...more,
    });
  const script = async (name: string, lines: string) => {
    const path = join(folder, name);
    await writeFile(path, `#!/bin/sh\n${lines}\n`);
    await chmod(path, 0o755);
    return path;
  };
  const sandbox = await script('no-sandbox', 'echo "No usable sandbox! Update your kernel." >&2; exit 1');
  const crash = await script('crash', 'echo "error while loading shared libraries: libnss3.so" >&2; exit 127');
  return {
    root,
    another,
    broken: (why: 'runner_start_failed' | 'sandbox_runtime_required') =>
      another({
        environment: { ...inherited, [ENV.chromiumPath]: why === 'sandbox_runtime_required' ? sandbox : crash },
      }),
    async kill(id: string) {
      const { pid } = JSON.parse(await readFile(join(root, id, 'process.json'), 'utf8')) as { pid: number }; // ProcessId
      process.kill(pid, 'SIGKILL');
    },
    leftovers: async (id: string) => [
      ...[join(root, id), join(tmpdir(), runnerTempName(id))].filter(path => existsSync(path)),
      ...(await processesOf(id)).map(String),
    ],
    published: atItself,
    endNoticed: () => exits === 1,
    async [Symbol.asyncDispose]() {
      const provider = another();
      for (const id of await provider.list())
        await eventually('everything is removed', async () => (await provider.remove(id)) === 'gone', 25_000);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
