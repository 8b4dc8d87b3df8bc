import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import * as z from 'zod';

/**
 * HashiCorp Vault's KV version 2 at the mount `secret`, as its API is documented, and no more than that:
 * <https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2>. `npm run vault` tries the same on Vault itself.
 */
export interface VaultKv extends AsyncDisposable {
  url: string;
  /** `GET pw_site_creds__ada 200`. */
  readonly asked: string[];
  /** The document under a name. */
  stored(name: string): unknown;
  /** Stores as the platform does, with the command `vault kv put`. */
  put(name: string, data: unknown): void;
  /** `vault kv delete`: the latest version is marked; a write that follows names it. */
  delete(name: string): void;
  /** Answers the next request with this status, as a sealed vault (503) does. */
  failNext(status: number): void;
}

const body = z.strictObject({
  data: z.record(z.string(), z.unknown()),
  options: z.strictObject({ cas: z.int() }).optional(),
});

export async function vaultKv(token: string): Promise<VaultKv> {
  const versions = new Map<string, { version: number; data: unknown }>();
  const asked: string[] = [];
  let failing: number | undefined;
  const put = (name: string, data: unknown) =>
    versions.set(name, { version: (versions.get(name)?.version ?? 0) + 1, data });
  const metadata = (version: number) => ({
    version,
    created_time: new Date().toISOString(),
    custom_metadata: null,
    deletion_time: '',
    destroyed: false,
  });
  const errors = (status: number, ...list: string[]) => [status, { errors: list }] as const;

  async function answer(request: IncomingMessage, name: string | undefined) {
    const sent = await text(request);
    if (failing !== undefined) {
      const status = failing;
      failing = undefined;
      return errors(status, 'Vault is sealed');
    }
    if (request.headers['x-vault-token'] !== token) return errors(403, 'permission denied');
    // Vault takes no relative path and nothing that does not print; a slash would be a folder
    if (name === undefined || name.includes('..') || !/^[\x21-\x7e]+$/.test(name)) return errors(404);
    const current = versions.get(name);
    if (request.method === 'GET') {
      if (!current) return errors(404);
      return [
        current.data === null ? 404 : 200,
        { data: { data: current.data, metadata: metadata(current.version) } },
      ] as const;
    }
    if (request.method !== 'POST') return errors(405);
    const parsed = body.safeParse(JSON.parse(sent));
    if (!parsed.success) return errors(400, 'failed to parse JSON input');
    const cas = parsed.data.options?.cas;
    if (cas !== undefined && cas !== (current?.version ?? 0))
      return errors(400, 'check-and-set parameter did not match the current version');
    put(name, parsed.data.data);
    return [200, { data: metadata(versions.get(name)?.version ?? 0) }] as const;
  }

  const server = createServer(async (request, response) => {
    const path = /^\/v1\/secret\/data\/([^/?]+)$/.exec(request.url ?? '')?.[1];
    const name = path === undefined ? undefined : decodeURIComponent(path);
    const [status, document] = await answer(request, name);
    asked.push(`${request.method} ${name} ${status}`);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked,
    stored: name => versions.get(name)?.data,
    put,
    delete: name => void versions.set(name, { version: versions.get(name)?.version ?? 0, data: null }),
    failNext: status => {
      failing = status;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}
