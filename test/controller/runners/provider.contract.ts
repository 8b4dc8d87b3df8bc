import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { OmicronError } from '../../../contract/problem.ts';
import type { RunnerProvider } from '../../../controller/ports/runners.ts';
import { neverAborts } from '../../../time/clock.ts';
import { eventually } from '../../eventually.ts';

type StartFailure = 'runner_start_failed' | 'sandbox_runtime_required';

/** The part of an adapter that the suite needs; everything goes when the test ends. */
export interface ProviderUnderTest extends AsyncDisposable {
  /** The answer of `addressOf` here for a runner. */
  published(id: string, endpoint: string): ReturnType<RunnerProvider['addressOf']>;
  /** A provider of another controller process, for the same place. */
  another(): RunnerProvider | Promise<RunnerProvider>;
  /** One whose runners cannot start, for this reason. */
  broken(why: StartFailure): RunnerProvider | Promise<RunnerProvider>;
  /** Ends the runner's process as `kill -9` does. */
  kill(id: string): Promise<void>;
  /** The rest of a runner: processes and folders, or pods and Services. */
  leftovers(id: string): Promise<string[]>;
  /** Whether the controller learnt by itself that this runner ended. */
  endNoticed(id: string): boolean;
}

/** A pod takes longer than a process, on a busy machine much longer. */
const WAIT_MS = 60_000;
const soon = () => AbortSignal.timeout(WAIT_MS);

/** Removes until it is gone, as the drain loop does. */
async function removed(provider: RunnerProvider, id: string): Promise<void> {
  await eventually(`${id} is gone`, async () => (await provider.remove(id)) === 'gone', WAIT_MS);
}

/** Objects of a runner go with it, a Service a moment later than its pod. */
const nothingLeft = (under: ProviderUnderTest, id: string) =>
  eventually(`nothing is left of ${id}`, async () => (await under.leftovers(id)).length === 0);

/** One contract for every place where runners can live. */
export function runnerProviderContract(
  name: string,
  open: () => Promise<ProviderUnderTest>,
  failures: readonly StartFailure[] = ['runner_start_failed', 'sandbox_runtime_required'],
): void {
  describe(`the runner provider of ${name}`, () => {
    it('creates once, warms up, is seen by another process, is removed whole', async () => {
      await using under = await open();
      const [one, two] = [await under.another(), await under.another()];
      const id = randomUUID();
      expect(await one.list()).not.toContain(id);
      await Promise.all([one.create(id, neverAborts()), one.create(id, neverAborts()), two.create(id, neverAborts())]);
      const warm = await one.whenWarm(id, soon());
      expect(warm).toEqual({ bootId: expect.any(String), endpoint: expect.stringMatching(/^http:\/\//) });
      expect(await two.whenWarm(id, soon())).toEqual(warm); // one runner, not three
      await two.create(id, neverAborts());
      expect(await one.whenWarm(id, soon())).toEqual(warm);
      expect((await fetch(`${warm.endpoint}/healthz`)).status).toBe(200);
      for (const provider of [one, two]) {
        expect(await provider.list()).toContain(id);
        expect(await provider.deathOf(id)).toBeNull();
      }
      one.markLeased(id, { sessionId: randomUUID(), epoch: 1, userIdHash: 'hash' });
      expect(one.addressOf({ id, endpoint: warm.endpoint })).toEqual(under.published(id, warm.endpoint));
      await removed(two, id); // who removes need not be who created
      expect(await one.remove(id)).toBe('gone');
      await nothingLeft(under, id);
      await eventually('the list forgets it', async () => !(await one.list()).includes(id));
      await eventually('its end was noticed', () => under.endNoticed(id));
    });

    it('says that a killed runner is dead, at once and to every process, and removes what it left', async () => {
      await using under = await open();
      const [one, two] = [await under.another(), await under.another()];
      const id = randomUUID();
      await one.create(id, neverAborts());
      await one.whenWarm(id, soon());
      await under.kill(id);
      for (const provider of [one, two])
        expect(await eventually('its death', () => provider.deathOf(id))).toEqual({
          ended: true,
          reason: expect.stringMatching(/ended|killed/),
        });
      await eventually('its end was noticed', () => under.endNoticed(id));
      await expect(one.whenWarm(id, soon())).rejects.toMatchObject({ code: 'runner_start_failed' });
      expect(await one.list()).toContain(id);
      await removed(one, id);
      await nothingLeft(under, id);
    });

    it('knows nothing of a runner that was never made, and removing it is done', async () => {
      await using under = await open();
      const provider = await under.another();
      const id = randomUUID();
      expect(await provider.deathOf(id)).toMatchObject({ ended: true });
      await expect(provider.whenWarm(id, soon())).rejects.toBeInstanceOf(OmicronError);
      expect(await provider.remove(id)).toBe('gone');
    });

    it.each(failures)('says %s when that is why', async why => {
      await using under = await open();
      const provider = await under.broken(why);
      const id = randomUUID();
      await provider.create(id, neverAborts());
      const error = await provider.whenWarm(id, soon()).catch((cause: unknown) => cause);
      expect(error).toBeInstanceOf(OmicronError);
      expect(error).toMatchObject({ code: why, message: expect.stringMatching(/.{20}/) });
      await removed(provider, id);
      await nothingLeft(under, id);
    });

    it('stops waiting when its signal aborts', async () => {
      await using under = await open();
      const provider = await under.another();
      const id = randomUUID();
      await provider.create(id, neverAborts());
      const stop = new AbortController();
      const waiting = provider.whenWarm(id, stop.signal);
      stop.abort();
      // It may have been warm already; it must not wait on. The failure names the awaited state.
      await waiting.catch((error: Error) => expect(['AbortError', 'OmicronError']).toContain(error.name));
      await removed(provider, id);
    });

    it('names what it makes by a digest that two processes share', async () => {
      await using under = await open();
      const [one, two] = [await under.another(), await under.another()];
      expect(await one.templateDigest()).toBe(await two.templateDigest());
      expect((await one.templateDigest()).length).toBeGreaterThan(1);
    });
  });
}
