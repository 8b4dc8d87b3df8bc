import { randomUUID } from 'node:crypto';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { neverAborts } from '../../../time/clock.ts';
import { eventually } from '../../eventually.ts';
import { runnerProviderContract } from './provider.contract.ts';
import { MIB, processesOf, realRunners } from './real-runners.ts';

/** A runner took 28 s to start where ten programs shared two cores. */
const WARM_MS = 50_000;

runnerProviderContract('local processes, with a browser', () => realRunners());

it('local: says with the last lines of its log why a runner’s process ended', async () => {
  await using under = await realRunners({ jwks: 'not a key set' });
  const provider = under.another();
  const id = randomUUID();
  await provider.create(id, neverAborts());
  const error = await provider.whenWarm(id, AbortSignal.timeout(WARM_MS)).catch((cause: unknown) => cause);
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
  await provider.create(id, neverAborts());
  await provider.whenWarm(id, AbortSignal.timeout(WARM_MS));
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
  await earlier.create(id, neverAborts());
  await earlier.whenWarm(id, AbortSignal.timeout(WARM_MS));
  const provider = under.another({ memoryBytesMax: 64 * MIB });
  const death = await eventually('its death', () => provider.deathOf(id));
  expect(death).toMatchObject({
    ended: true,
    reason: expect.stringMatching(/took \d{3} MiB of memory; a runner on this machine may take 64/),
  });
  await eventually('all its processes end', async () => (await processesOf(id)).length === 0);
});

it('local: a runner that does not answer is killed within 30 s, and its death says why', async () => {
  await using under = await realRunners();
  const id = randomUUID();
  const provider = under.another();
  await provider.create(id, neverAborts());
  await provider.whenWarm(id, AbortSignal.timeout(WARM_MS));
  const { pid } = JSON.parse(await readFile(join(under.root, id, 'process.json'), 'utf8'));
  process.kill(pid, 'SIGSTOP');
  const death = await eventually('its death', () => provider.deathOf(id), 30_000);
  expect(death).toMatchObject({
    ended: true,
    reason: expect.stringMatching(/had not answered over HTTP for \d\d s, and was killed/),
  });
  await eventually('all its processes end', async () => (await processesOf(id)).length === 0);
});
