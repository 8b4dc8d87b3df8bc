import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { KubeConfig, type KubernetesObject } from '@kubernetes/client-node';

/** The answer to the next call, instead of the right one. */
export interface ApiFailure {
  readonly status: number;
  readonly message?: string;
  readonly headers?: Record<string, string>;
  /** It is done all the same, and the connection breaks before the answer. */
  readonly lost?: boolean;
}

/** The part of an API server that the controller uses, in memory, in one namespace. */
export interface FakeApiServer extends AsyncDisposable {
  readonly config: KubeConfig;
  /** `POST pods`, `DELETE pods/a`, in order; lists and watches are not among them. Each write gives its object another `resourceVersion`. */
  readonly calls: readonly string[];
  /** Objects by `resource/name`. */
  readonly objects: Map<string, KubernetesObject>;
  /** The next calls of this method and resource, in order; e.g. `POST`, `pods`. */
  failNext(method: string, resource: string, ...failures: readonly ApiFailure[]): void;
  /** Connections that were opened. */
  connections(): number;
  /** Ends every watch as Gone (410), once this has happened to the objects unseen. */
  gone(change: () => void): void;
}

export async function fakeApiServer(namespace: string): Promise<FakeApiServer> {
  const objects = new Map<string, KubernetesObject>();
  const failures = new Map<string, ApiFailure[]>();
  const calls: string[] = [];
  const watches = new Set<ServerResponse>();
  let versions = 1;
  const say = (response: ServerResponse, status: number, body: unknown, headers = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  const fail = (response: ServerResponse, { status, message = '', headers = {} }: ApiFailure) =>
    say(response, status, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status, message }, headers);

  const version = () => String(++versions);
  const isOld = (there: KubernetesObject, known?: string) =>
    known !== undefined && known !== there.metadata?.resourceVersion;

  const answer = (method: string, resource: string, name: string, body: KubernetesObject | null) => {
    const key = `${resource}/${name || body?.metadata?.name}`;
    const there = objects.get(key);
    if (method === 'POST') {
      if (there) return { status: 409, message: `${key} already exists` };
      const made = {
        ...body,
        metadata: { ...body?.metadata, namespace, uid: randomUUID(), resourceVersion: version() },
      };
      objects.set(key, made);
      return made;
    }
    if (!there) return { status: 404, message: `${key} not found` };
    if (method === 'PUT') {
      if (isOld(there, body?.metadata?.resourceVersion)) return { status: 409, message: `${key} has been modified` };
      const replaced = { ...body, metadata: { ...body?.metadata, resourceVersion: version() } };
      objects.set(key, replaced);
      return replaced;
    }
    if (method === 'DELETE') {
      const known = (body as { preconditions?: { resourceVersion?: string } } | null)?.preconditions?.resourceVersion;
      if (isOld(there, known)) return { status: 409, message: `${key} has been modified` };
      // Until its finalizers are gone it is there.
      const isHeld = (there.metadata?.finalizers?.length ?? 0) > 0;
      if (!isHeld) objects.delete(key);
      else objects.set(key, { ...there, metadata: { ...there.metadata, deletionTimestamp: new Date() } });
    }
    if (method !== 'PATCH') return there;
    // a merge patch of metadata, as the controller sends
    const [was, sent] = [there.metadata, body?.metadata];
    const labels = { ...was?.labels, ...sent?.labels };
    const annotations = Object.fromEntries(
      Object.entries({ ...was?.annotations, ...sent?.annotations }).filter(([, value]) => value !== null),
    );
    const patched = { ...there, metadata: { ...was, ...sent, labels, annotations, resourceVersion: version() } };
    objects.set(key, patched);
    return patched;
  };

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', 'http://api');
    const [resource = '', name = ''] = url.pathname.split(`/namespaces/${namespace}/`)[1]?.split('/') ?? [];
    const method = request.method ?? 'GET';
    if (url.searchParams.get('watch')) {
      response.writeHead(200).flushHeaders();
      watches.add(response);
      return;
    }
    if (method === 'GET' && name === '') {
      const [label = '', value] = url.searchParams.get('labelSelector')?.split('=') ?? [];
      const items = [...objects]
        .filter(
          ([key, { metadata }]) => key.startsWith(`${resource}/`) && (!label || metadata?.labels?.[label] === value),
        )
        .map(([, object]) => object);
      say(response, 200, { metadata: { resourceVersion: '1' }, items });
      return;
    }
    const sent = await text(request);
    calls.push(`${method} ${resource}${name ? `/${name}` : ''}`);
    const failure = failures.get(`${method} ${resource}`)?.shift();
    if (failure && !failure.lost) {
      fail(response, failure);
      return;
    }
    const result = answer(method, resource, name, sent === '' ? null : JSON.parse(sent));
    if (failure) response.destroy();
    else if ('status' in result && typeof result.status === 'number') fail(response, result as ApiFailure);
    else say(response, method === 'POST' ? 201 : 200, result);
  };

  let connections = 0;
  const server = createServer((request, response) => void serve(request, response)).on(
    'connection',
    () => connections++,
  );
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const config = new KubeConfig();
  // the client takes plain http only with skipTLSVerify
  config.loadFromClusterAndUser(
    { name: 'fake', server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: 'controller' },
  );
  return {
    config,
    calls,
    objects,
    connections: () => connections,
    failNext: (method, resource, ...next) => void failures.set(`${method} ${resource}`, [...next]),
    gone(change) {
      change();
      const event = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } };
      for (const watch of watches) watch.end(`${JSON.stringify(event)}\n`);
      watches.clear();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}
