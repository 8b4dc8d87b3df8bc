import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ENV } from '../../contract/names.ts';
import { serviceKey, signServiceToken } from '../../contract/tokens.ts';
import { httpCalls } from '../../http/call.ts';
import { deployment } from '../controller/stack.ts';
import { processStat } from '../process-stat.ts';
import { STUB_VARIABLE } from './runner-stub.ts';

export type ControllerProcess = Awaited<ReturnType<typeof controllerProcess>>;

/** Calls to a controller with these settings, with the platform's token or the one that is given. Throws where the answer is not 200. */
export function controllerCalls(url: string, settings: Readonly<Record<string, string>>) {
  const exchange = httpCalls();
  const key = serviceKey(settings[ENV.serviceSecret] ?? '');
  return async (method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown, token?: string): Promise<string> => {
    const headers = {
      authorization: `Bearer ${token ?? (await signServiceToken(key))}`,
      'content-type': 'application/json',
    };
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await exchange(`${url}${path}`, { method, headers, ...content }, AbortSignal.timeout(30_000));
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.text;
  };
}

/** A controller in a process of its own, so that the CPU of nothing else is counted; it starts no runners. */
export async function controllerProcess(
  databaseUrl: string,
  { runnersUrl, environment = {} }: { runnersUrl: string; environment?: Readonly<Record<string, string>> },
) {
  const shared = await deployment({
    [ENV.databaseUrl]: databaseUrl,
    OMICRON_CAPACITY: 6_000,
    OMICRON_POOL_IDLE: 0,
    OMICRON_USER_LIMIT: 10_000,
    OMICRON_REAP_SECONDS: 10,
    ...environment,
  });
  const settings = Object.fromEntries(Object.entries(shared.environment).map(([name, value]) => [name, String(value)]));
  const child = fork(join(import.meta.dirname, 'controller.program.ts'), [], {
    env: { PATH: process.env.PATH, [STUB_VARIABLE]: runnersUrl, ...settings },
  });
  const exited = once(child, 'exit');
  const [{ url }] = (await Promise.race([
    once(child, 'message'),
    exited.then(() => Promise.reject(new Error('the controller did not start'))),
  ])) as [{ url: string }]; // the program's first message
  let lostSpans = 0;
  child.on('message', ({ lost }: { lost: number }) => {
    lostSpans += lost;
  });
  return {
    url,
    /** Seconds of a core that it has taken. */
    cpu: () => processStat(child.pid ?? 0)?.cpu ?? Number.NaN,
    lostSpans: () => lostSpans,
    call: controllerCalls(url, settings),
    async [Symbol.asyncDispose]() {
      child.send('stop');
      await exited;
      await shared[Symbol.asyncDispose]();
    },
  };
}
