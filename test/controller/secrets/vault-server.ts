import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import { eventually } from '../../eventually.ts';

/** HashiCorp Vault itself, built from its Go module: `vault-server/main.go`. */
export interface VaultServer extends Disposable {
  readonly url: string;
  /** The root token. */
  readonly token: string;
  /** A new KV version 2; answers its mount. */
  mount(): Promise<string>;
  /** Calls its API: `request('POST', 'sys/seal')`. Throws where it refuses. */
  request(method: string, path: string, body?: unknown): Promise<unknown>;
}

const START_MS = 60_000;

/** Builds it, which takes minutes the first time, and starts it. */
export async function vaultServer(): Promise<VaultServer> {
  mkdirSync('.omicron', { recursive: true });
  const program = resolve('.omicron', 'vault-server');
  const cwd = join(import.meta.dirname, 'vault-server');
  const { error, status } = spawnSync('go', ['build', '-o', program, '.'], { cwd, stdio: 'inherit' });
  if (status !== 0) throw new Error(`Vault was not built (Go 1.20 or newer is needed): ${error?.message ?? status}`);

  const server = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(createInterface({ input: server.stdout }), 'line', {
    signal: AbortSignal.timeout(START_MS),
  });
  const { url, token } = z.object({ url: z.url(), token: z.string() }).parse(JSON.parse(line));
  const request = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(new URL(`v1/${path}`, url), {
      method,
      headers: { 'x-vault-token': token },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const said = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${said}`);
    return said === '' ? undefined : JSON.parse(said);
  };
  return {
    url,
    token,
    request,
    async mount() {
      const mount = `kv-${randomUUID()}`;
      await request('POST', `sys/mounts/${mount}`, { type: 'kv', options: { version: '2' } });
      // a new mount is upgraded to version 2 first, and answers 400 meanwhile
      await eventually('the mount', async () => (await request('GET', `${mount}/config`)) !== undefined);
      return mount;
    },
    [Symbol.dispose]: () => void server.stdin.end(),
  };
}
