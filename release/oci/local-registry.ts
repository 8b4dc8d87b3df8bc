import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { digestOf, MEDIA } from '../../cli/verify/contents.ts';

interface Stored {
  readonly type: string;
  readonly bytes: Buffer;
}

/** A registry in memory, on loopback, by the distribution spec: blobs in one go, manifests by tag and digest, and referrers where it has their API. */
export async function startRegistry(hasReferrers: boolean) {
  const blobs = new Map<string, Buffer>();
  const manifests = new Map<string, Stored>();

  function putManifest(repository: string, reference: string, stored: Stored, response: ServerResponse): void {
    const digest = digestOf(stored.bytes);
    for (const each of [reference, digest]) manifests.set(`${repository}@${each}`, stored);
    const { subject, config, layers = [] } = JSON.parse(stored.bytes.toString());
    const missing = [config, ...layers].find(blob => blob && !blobs.has(blob.digest));
    if (missing) return void response.writeHead(400).end('MANIFEST_BLOB_UNKNOWN');
    if (subject && hasReferrers) response.setHeader('OCI-Subject', subject.digest);
    response.writeHead(201).end();
  }

  function listReferrers(repository: string, digest: string, response: ServerResponse): void {
    if (!hasReferrers) return void response.writeHead(404).end();
    const found = [...manifests].flatMap(([key, { type, bytes }]) => {
      const [of, reference] = key.split('@');
      const { subject, artifactType, annotations } = JSON.parse(bytes.toString());
      if (of !== repository || !reference?.startsWith('sha256:') || subject?.digest !== digest) return [];
      return [{ mediaType: type, digest: reference, size: bytes.length, artifactType, annotations }];
    });
    response.writeHead(200, { 'content-type': MEDIA.index });
    response.end(JSON.stringify({ schemaVersion: 2, mediaType: MEDIA.index, manifests: found }));
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://registry');
    const [, repository = '', kind, reference = ''] =
      /^\/v2\/(.+)\/(blobs|manifests|referrers)\/(.*)$/.exec(url.pathname) ?? [];
    if (url.pathname === '/v2/') return void response.writeHead(200).end();
    const body = await buffer(request);
    if (kind === 'referrers') return listReferrers(repository, reference, response);
    if (kind === 'manifests' && request.method === 'PUT')
      return putManifest(
        repository,
        reference,
        { type: String(request.headers['content-type']), bytes: body },
        response,
      );
    if (request.method === 'POST')
      return void response
        .writeHead(202, { location: `/v2/${repository}/blobs/uploads/${randomUUID()}?state=1` })
        .end();
    if (request.method === 'PUT') {
      const digest = url.searchParams.get('digest') ?? '';
      if (digest !== digestOf(body)) return void response.writeHead(400).end();
      blobs.set(digest, body);
      return void response.writeHead(201).end();
    }
    const manifest = kind === 'manifests' ? manifests.get(`${repository}@${reference}`) : undefined;
    const bytes = kind === 'manifests' ? manifest?.bytes : blobs.get(reference);
    if (bytes === undefined) return void response.writeHead(404).end();
    response.writeHead(200, {
      'content-type': manifest?.type ?? 'application/octet-stream',
      'content-length': bytes.length,
      'docker-content-digest': digestOf(bytes),
    });
    response.end(request.method === 'HEAD' ? undefined : bytes);
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => void server.close().closeAllConnections(),
  };
}
