import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { ENV } from '../contract/names.ts';

const keysSchema = z.object({
  serviceSecret: z.string(),
  signingKey: z.string(),
  derivationKey: z.base64(),
  secretFileKey: z.base64(),
  egressSecret: z.string(),
});
export type StackKeys = z.infer<typeof keysSchema>;

const runningSchema = z.object({ url: z.url(), consoleUrl: z.url(), pid: z.int() });
export type RunningStack = z.infer<typeof runningSchema>;

const randomSecret = () => randomBytes(32).toString('base64');

/** The folder of one local stack (`.omicron`), readable by its owner only: keys, database, recordings, logs. */
export class StackFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  get lockFile(): string {
    return join(this.path, 'stack.lock');
  }
  get logFile(): string {
    return join(this.path, 'controller.log');
  }
  get artifacts(): string {
    return join(this.path, 'artifacts');
  }
  /** Compiled code of the runner: the next one starts in a sixth less time. */
  get compileCache(): string {
    return join(this.path, 'compile-cache');
  }
  /** Variables by which an application finds the running stack, as a shell and dotenv read them. */
  get environmentFile(): string {
    return join(this.path, 'application.env');
  }
  get #portFile(): string {
    return join(this.path, 'port');
  }
  get #keysFile(): string {
    return join(this.path, 'keys.json');
  }
  get #runningFile(): string {
    return join(this.path, 'stack.json');
  }

  async make(): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    await chmod(this.path, 0o700);
  }

  /** The keys of this stack, generated at its first start; missing ones are added, the given one is kept. Call with the lock held. */
  async keys(serviceSecret?: string): Promise<StackKeys> {
    const known = await this.#readKeys();
    const keys: StackKeys = {
      serviceSecret: randomSecret(),
      signingKey: JSON.stringify(generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })),
      derivationKey: randomSecret(),
      secretFileKey: randomSecret(),
      egressSecret: randomSecret(),
      ...known,
      ...(serviceSecret && { serviceSecret }),
    };
    if (!isDeepStrictEqual(known, keys)) await writePrivately(this.#keysFile, formatJson(keys));
    return keys;
  }

  async setRunning(running: RunningStack, serviceSecret: string): Promise<void> {
    await writePrivately(this.#runningFile, formatJson(running));
    await writePrivately(this.#portFile, new URL(running.url).port);
    const variables = { [ENV.controllerUrl]: running.url, [ENV.serviceSecret]: serviceSecret };
    const lines = Object.entries(variables).map(([name, value]) => `${name}='${value}'\n`);
    await writePrivately(this.environmentFile, lines.join(''));
  }

  /** The previous port, or 0. Runners that outlived a killed stack report there. */
  async lastPort(): Promise<number> {
    return z.coerce
      .number()
      .int()
      .catch(0)
      .parse(await readFile(this.#portFile, 'utf8').catch(() => 0));
  }

  async clearRunning(): Promise<void> {
    for (const file of [this.#runningFile, this.environmentFile]) await rm(file, { force: true });
  }

  /** Address of the stack of this folder, and its service secret; null: none runs. */
  async running(): Promise<(RunningStack & { serviceSecret: string }) | null> {
    const text = await readFile(this.#runningFile, 'utf8').catch(() => null);
    const { serviceSecret } = await this.#readKeys();
    if (text === null || serviceSecret === undefined) return null;
    const { data } = runningSchema.safeParse(JSON.parse(text)); // one of another version is not this command's to call
    return data && isAlive(data.pid) ? { ...data, serviceSecret } : null;
  }

  async #readKeys(): Promise<Partial<StackKeys>> {
    const text = await readFile(this.#keysFile, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '{}';
      throw error;
    });
    return keysSchema.partial().parse(JSON.parse(text));
  }
}

const formatJson = (content: object): string => JSON.stringify(content, null, 2);

/** Atomic, and never readable by other users. */
async function writePrivately(path: string, content: string): Promise<void> {
  await writeFile(`${path}.new`, content, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // Node's errors have a code
  }
}
