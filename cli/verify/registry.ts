import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { type Descriptor, MEDIA, parseManifest, type ReleaseSource } from './contents.ts';
import { ReleaseFault } from './release-fault.ts';

/** A request to a repository of a registry; the caller judges the status. `path` follows `/v2/<repository>/`. */
export type RegistryFetch = (path: string, init?: RequestInit) => Promise<Response>;

const ACCEPT = [
  ...[MEDIA.manifest, MEDIA.index],
  ...[
    'application/vnd.docker.distribution.manifest.v2+json',
    'application/vnd.docker.distribution.manifest.list.v2+json',
  ],
].join(', ');

/** The tag under which a registry without the API of referrers has them: <https://github.com/opencontainers/distribution-spec>. */
export const referrersTag = (digest: string): string => digest.replace(':', '-');

/**
 * Requests to `<host>/<repository>`, with the credentials that `docker login` keeps, where there are any. Plain http for this machine
 * alone.
 */
export function registryFetch(repository: string): RegistryFetch {
  const slash = repository.indexOf('/');
  if (slash < 1 || repository.includes('://'))
    throw new ReleaseFault(
      `"${repository}" is no repository of a registry: write it as ghcr.io/example/omicron-browser, without https://`,
      'registry',
    );
  const [host, name] = [repository.slice(0, slash), repository.slice(slash + 1)];
  const scheme = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(host) ? 'http' : 'https';
  let authorization: string | undefined;
  const send = (path: string, init: RequestInit) =>
    fetch(path.startsWith('http') ? path : `${scheme}://${host}/v2/${name}/${path}`, {
      ...init,
      headers: { accept: ACCEPT, ...init.headers, ...(authorization ? { authorization } : {}) },
    });
  return async (path, init = {}) => {
    const answer = await send(path, init);
    if (answer.status !== 401 || authorization !== undefined) return answer;
    authorization = await authorize(host, answer.headers.get('www-authenticate') ?? '');
    return await send(path, init);
  };
}

/** The answer to a challenge: <https://distribution.github.io/distribution/spec/auth/token/>. */
async function authorize(host: string, challenge: string): Promise<string> {
  const basic = await basicCredentials(host);
  const { realm, ...query } = Object.fromEntries(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]),
  );
  if (!/^bearer /i.test(challenge) || realm === undefined) {
    if (basic === undefined) throw new ReleaseFault(`${host} wants a password`, 'login');
    return `Basic ${basic}`;
  }
  const answer = await fetch(`${realm}?${new URLSearchParams(query as Record<string, string>)}`, {
    headers: basic ? { authorization: `Basic ${basic}` } : {},
  });
  if (!answer.ok) throw new ReleaseFault(`${host} gave no token (${answer.status})`, 'login');
  const { token, access_token } = (await answer.json()) as { token?: string; access_token?: string };
  return `Bearer ${token ?? access_token}`;
}

async function basicCredentials(host: string): Promise<string | undefined> {
  const folder = process.env.DOCKER_CONFIG ?? join(homedir(), '.docker');
  const text = await readFile(join(folder, 'config.json'), 'utf8').catch(() => '{}');
  return (JSON.parse(text) as { auths?: Record<string, { auth?: string }> }).auths?.[host]?.auth;
}

/** A release in a registry: the parts are repositories below `base`. */
export function registrySource(base: string): ReleaseSource {
  const get = async (part: string, path: string): Promise<Buffer | undefined> => {
    const answer = await registryFetch(`${base}/${part}`)(path).catch((error: unknown) => {
      if (error instanceof ReleaseFault) throw error;
      const { message, cause } = error instanceof Error ? error : new Error(String(error));
      throw new ReleaseFault(
        `${base} cannot be reached: ${cause instanceof Error ? cause.message : message}`,
        'registry',
      );
    });
    if (answer.status === 404) return undefined;
    if (!answer.ok)
      throw new ReleaseFault(
        `${base}/${part} answered ${answer.status} to ${path}`,
        [401, 403].includes(answer.status) ? 'login' : 'registry',
      );
    return Buffer.from(await answer.arrayBuffer());
  };
  return {
    hasLayers: false,
    async manifest(part, version) {
      const found = await get(part, `manifests/${version}`);
      if (found === undefined) throw new ReleaseFault(`${base}/${part} has no ${version}`, 'place');
      return found;
    },
    async blob(part, { mediaType, digest }) {
      const kind = [MEDIA.manifest, MEDIA.index].some(each => each === mediaType) ? 'manifests' : 'blobs';
      const found = await get(part, `${kind}/${digest}`);
      if (found === undefined) throw new ReleaseFault(`${base}/${part} has no ${digest}`, 'changed');
      return found;
    },
    async referrers(part, digest) {
      const found = (await get(part, `referrers/${digest}`)) ?? (await get(part, `manifests/${referrersTag(digest)}`));
      return found
        ? (parseManifest(found, `the list of referrers of ${digest}`).manifests ?? ([] as Descriptor[]))
        : [];
    },
  };
}
