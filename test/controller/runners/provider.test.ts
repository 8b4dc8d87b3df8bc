import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { ENV, RUNNER_COMMAND, runnerTempName } from '../../../contract/names.ts';
import { OmicronError } from '../../../contract/problem.ts';
import { signingKey } from '../../../contract/tokens.ts';
import { type LocalRunners, localRunners } from '../../../controller/runners/local/provider.ts';
import { pickVariables } from '../../../http/environment.ts';
import { eventually } from '../../eventually.ts';
import { providerContext } from '../../fakes/provider-context.ts';
import { fakeMachine } from '../../fakes/runners.ts';
import { type ProviderUnderTest, runnerProviderContract } from './provider.contract.ts';

const { publicJwk } = signingKey(JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })));
/** What a controller's main.ts would pass on. */
const inherited = pickVariables(process.env, RUNNER_COMMAND.inherits);
const jwks = JSON.stringify({ keys: [publicJwk] });
const MIB = 1024 * 1024;

/** Agents reach a process of this machine as the controller does. */
const atItself = (_id: string, endpoint: string) => ({ mcpUrl: `${endpoint}/mcp`, workload: null });

runnerProviderContract('the fake machine', async (): Promise<ProviderUnderTest> => {
  const machine = fakeMachine();
  let exits = 0;
  const another = () => machine.provider(providerContext({ jwks, onChange: () => exits++ }));
  return {
    another,
    broken(why) {
      machine.failNext(new OmicronError(why, 'The browser cannot start on this machine.'));
      return another();
    },
    kill: async id => machine.runner(id).kill(),
    leftovers: async id => [...machine.runners.keys()].filter(each => each === id),
    published: atItself,
    endNoticed: () => exits === 1,
    [Symbol.asyncDispose]: async () => machine.close(),
  };
});

/** Ids of processes whose environment names this runner. */
async function processesOf(runnerId: string): Promise<number[]> {
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter(name => /^\d+$/.test(name))) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if ((environment + line).includes(runnerId)) found.push(Number(pid));
  }
  return found;
}

/** Real runners with a real browser, in a folder of the test. */
async function realRunners(change: Partial<LocalRunners> = {}) {
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

runnerProviderContract('local processes, with a browser', () => realRunners());

it('local: says with the last lines of its log why a runner’s process ended', async () => {
  await using under = await realRunners({ jwks: 'not a key set' });
  const provider = under.another();
  const id = randomUUID();
  await provider.create(id);
  const error = await provider.whenWarm(id, AbortSignal.timeout(20_000)).catch((cause: unknown) => cause);
  expect(error).toMatchObject({
    code: 'runner_start_failed',
    message: expect.stringMatching(/exit code 2.*OMICRON_CONTROLLER_JWKS.*JWKS/s),
  });
});

it('local: keeps a runner’s folder from others and the controller’s secrets from the runner', async () => {
  process.env.OMICRON_TEST_SECRET = 'controller-secret';
  await using under = await realRunners();
  const provider = under.another();
  const id = randomUUID();
  await provider.create(id);
  await provider.whenWarm(id, AbortSignal.timeout(20_000));
  for (const path of [under.root, join(under.root, id), join(under.root, id, 'output')])
    expect((await stat(path)).mode & 0o077).toBe(0);
  for (const pid of await processesOf(id)) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    expect(environment).not.toContain('controller-secret');
  }
  delete process.env.OMICRON_TEST_SECRET;
});

it('local: a runner that is not this one, under a used process id, is not ended', async () => {
  await using under = await realRunners();
  const id = randomUUID();
  await mkdir(join(under.root, id, 'output'), { recursive: true });
  // our own process under another start time: what a process id that was used again looks like
  await writeFile(join(under.root, id, 'process.json'), JSON.stringify({ pid: process.pid, startTicks: '1' }));
  const provider = under.another();
  expect(await provider.deathOf(id)).toMatchObject({ ended: true });
  expect(await provider.remove(id)).toBe('gone');
});

it('local: a start that was cut short leaves a folder, which is a dead runner', async () => {
  await using under = await realRunners();
  const id = randomUUID();
  await mkdir(join(under.root, id, 'output'), { recursive: true });
  const provider = under.another();
  expect(await provider.list()).toEqual([id]);
  expect(await provider.deathOf(id)).toMatchObject({ ended: true });
  expect(await provider.remove(id)).toBe('gone');
});

it('local: kills a runner with its browser when they take too much memory, also one of an earlier controller, and says so', async () => {
  await using under = await realRunners();
  const id = randomUUID();
  const earlier = under.another();
  await earlier.create(id);
  await earlier.whenWarm(id, AbortSignal.timeout(20_000));
  const provider = under.another({ memoryBytesMax: 64 * MIB });
  const death = await eventually('its death', () => provider.deathOf(id));
  expect(death).toMatchObject({
    ended: true,
    reason: expect.stringMatching(/took \d{3} MiB of memory; a runner on this machine may take 64/),
  });
  await eventually('all its processes end', async () => (await processesOf(id)).length === 0);
});
