import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ENV, RUNNER_COMMAND } from '../../../contract/names.ts';
import { artifactSchema, sessionSchema } from '../../../contract/session.ts';
import { kernelBrowsers } from '../../../controller/runners/kernel/browsers.ts';
import { parseControllerSettings } from '../../../controller/settings.ts';
import { freePort } from '../../../local/free-port.ts';
import { pickVariables } from '../../../process/environment.ts';
import { realClock } from '../../../time/clock.ts';
import { eventually } from '../../eventually.ts';
import { type KernelApi, startKernelApi } from '../../fakes/kernel-api.ts';
import { callText, connect } from '../../runner/start.ts';
import { startSite } from '../../site/site.ts';
import { deployment, problemOf, startStack } from '../stack.ts';
import { runnerProviderContract } from './provider.contract.ts';
import { realRunners } from './real-runners.ts';

runnerProviderContract('local processes, with browsers of Kernel', async () => {
  const api = await startKernelApi();
  const runners = await realRunners({ remote: kernelBrowsers(api) });
  return {
    ...runners,
    broken() {
      api.refuseSockets();
      return runners.another();
    },
    // The browser that a killed runner leaves there goes with it.
    leftovers: async id => [...(await runners.leftovers(id)), ...api.browsers()],
    async [Symbol.asyncDispose]() {
      await runners[Symbol.asyncDispose]();
      await api[Symbol.asyncDispose]();
    },
  };
}, ['runner_start_failed']);

it('kernel: says which provider failed and why, and never a key', async () => {
  await using api = await startKernelApi();
  const wrong = kernelBrowsers({ url: api.url, apiKey: 'sk_wrong' });
  const refused =
    /^The provider kernel failed: its API refused a browser: 401 unauthorized, Missing or invalid API key\.$/;
  await expect(wrong.create()).rejects.toMatchObject({
    code: 'runner_start_failed',
    message: expect.stringMatching(refused),
  });
  api.failNext(429, 'too_many_requests', 'Concurrency limit reached');
  await expect(kernelBrowsers(api).create()).rejects.toThrow('429 too_many_requests, Concurrency limit reached');
  await expect(kernelBrowsers(api).remove('unknown')).resolves.toBeUndefined();
  api.failNext(500, 'internal_error', 'Try later');
  await expect(kernelBrowsers(api).remove('unknown')).rejects.toThrow('did not end the browser unknown: 500');
  const gone = kernelBrowsers({ url: 'http://127.0.0.1:9', apiKey: api.apiKey });
  const error = await gone.create().catch((cause: Error) => cause);
  expect(String(error)).toContain('The provider kernel failed: its API did not answer at http://127.0.0.1:9');
  expect(String(error)).not.toContain(api.apiKey);
});

it('kernel: what a remote browser cannot be held to is refused by the settings', async () => {
  await using deployed = await deployment();
  const read = (more: object) => () =>
    parseControllerSettings({ ...deployed.environment, [ENV.provider]: 'kernel', ...more });
  expect(read({})).toThrow(`${ENV.kernelApiKey} is not set`);
  expect(read({ [ENV.kernelApiKey]: 'k', [ENV.egressUrl]: 'http://127.0.0.1:3128' })).toThrow('no traffic passes');
  expect(read({ [ENV.kernelApiKey]: 'k', [ENV.kernelUrl]: 'http://kernel.example' })).toThrow('must be an https URL');
});

/** Environments and command lines of all processes. */
async function processTexts(): Promise<string> {
  const ids = (await readdir('/proc')).filter(name => /^\d+$/.test(name));
  const files = ids.flatMap(id => ['environ', 'cmdline'].map(name => join('/proc', id, name)));
  return (await Promise.all(files.map(path => readFile(path, 'utf8').catch(() => '')))).join('\n');
}

const settingsFor = (api: KernelApi) => ({
  [ENV.provider]: 'kernel',
  [ENV.kernelUrl]: api.url,
  [ENV.kernelApiKey]: api.apiKey,
  [ENV.poolIdle]: 0,
  [ENV.startAttempts]: 1,
});
const inherited = pickVariables(process.env, [...RUNNER_COMMAND.inherits, ENV.chromiumPath, ENV.ffmpegPath]);

it('[S3] a lease stays with its provider, here or remote; none falls back to the other, whatever the setting says', async () => {
  await using api = await startKernelApi();
  await using shared = await deployment();
  const site = await startSite();
  // Its runners know it by its address.
  const settings = { ...settingsFor(api), [ENV.controllerPort]: await freePort() };
  const remoteController = () => startStack(settings, shared, realClock, inherited);
  // Without a pool, which would start a runner here whenever it likes.
  await using local = await startStack({ [ENV.poolIdle]: 0 }, shared);
  const here = await local.lease({ conversation_id: 'here', wait_seconds: 60 });
  let remote = await remoteController();

  // No fallback: a provider that fails is named, and nothing is started at the other.
  const before = shared.machine.created.length;
  api.failNext(402, 'payment_required', 'No credit left');
  const failed = problemOf(await remote.getOrCreate({ conversation_id: 'there' }));
  expect(failed).toMatchObject({
    code: 'runner_start_failed',
    detail: expect.stringContaining('The provider kernel failed'),
  });
  expect(failed.detail).toContain('No credit left');

  const there = await remote.lease({ conversation_id: 'there', wait_seconds: 60 });
  expect(api.browsers()).toHaveLength(1);
  expect(shared.machine.created).toHaveLength(before);
  const agent = await connect((there.mcp_url ?? '').replace(/\/mcp$/, ''), tokenOf(there));
  expect(await callText(agent, 'browser_navigate', { url: `${site.url}/login` })).toContain('Log in');
  const shown = async (stack: typeof local, id: string) =>
    sessionSchema.parse((await stack.call('GET', `/internal/browser-sessions/${id}`)).body);
  expect((await shown(remote, there.session_id)).provider).toBe('kernel');
  expect((await shown(remote, here.session_id)).provider).toBe('local');

  // Neither answers for the other, nor ends what it does not see.
  const mismatch = async (stack: typeof local, conversation_id: string) =>
    problemOf(await stack.getOrCreate({ conversation_id }));
  expect(await mismatch(remote, 'here')).toMatchObject({
    code: 'provider_mismatch',
    detail: expect.stringContaining('provider local'),
  });
  expect(await mismatch(local, 'there')).toMatchObject({
    code: 'provider_mismatch',
    detail: expect.stringContaining('provider kernel'),
  });

  // A controller that starts with the other setting leaves it alone, too; with its own again, it goes on with the same browser.
  await remote.stop();
  await using changed = await startStack({}, shared);
  expect((await mismatch(changed, 'there')).code).toBe('provider_mismatch');
  expect(await callText(agent, 'browser_snapshot')).toContain('User name');
  remote = await remoteController();
  const again = await remote.lease({ conversation_id: 'there' });
  expect([again.session_id, again.epoch, again.mcp_url]).toEqual([there.session_id, there.epoch, there.mcp_url]);
  expect((await local.lease({ conversation_id: 'here' })).epoch).toBe(here.epoch);

  // A rule that cannot be enforced on it is refused, at every layer.
  const sites = { version: 1, sites: { deny: ['example.com'] } };
  expect(problemOf(await remote.call('PUT', '/internal/policy', { body: sites })).code).toBe('not_held_remotely');
  expect((await local.call('PUT', '/internal/users/bob/policy', { body: sites })).status).toBe(200);
  expect(problemOf(await remote.getOrCreate({ user_id: 'bob' })).code).toBe('not_held_remotely');
  const complete = { conversation_id: 'kept', profile: 'work', profile_form: 'complete' } as const;
  expect(problemOf(await remote.getOrCreate(complete)).code).toBe('not_held_remotely');

  // Its end leaves a video here and nothing there; neither key nor address was anywhere to be read.
  const texts = await processTexts();
  for (const secret of [api.apiKey, ...api.tokens]) expect(texts + remote.logged()).not.toContain(secret);
  await agent.close();
  expect((await remote.call('DELETE', `/internal/browser-sessions/${there.session_id}`)).status).toBe(200);
  await eventually('the remote browser is gone', () => api.browsers().length === 0, 30_000);
  const artifacts = async () => {
    const { body } = await remote.call('GET', `/internal/browser-sessions/${there.session_id}/artifacts`);
    return artifactSchema.array().parse((body as { artifacts: unknown }).artifacts); // parsed here
  };
  await eventually(
    'the video is stored',
    async () => (await artifacts()).some(({ kind, state }) => kind === 'video' && state === 'stored'),
    30_000,
  );
  await remote.stop();
  await site.close();
});

const tokenOf = ({ mcp_headers }: { mcp_headers: Record<string, string> | null }): string =>
  (mcp_headers?.authorization ?? mcp_headers?.Authorization ?? '').replace(/^Bearer /, '');
