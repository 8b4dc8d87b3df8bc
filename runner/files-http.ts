import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished, pipeline } from 'node:stream/promises';
import type * as z from 'zod';
import { fileName, type runnerFiles, type SessionFile } from '../contract/files.ts';
import { OmicronError } from '../contract/problem.ts';
import { contentAnswer } from '../http/content-answer.ts';
import { streamPlain } from './files/plain-file.ts';
import type { KeptFile, SessionFiles } from './files/session-files.ts';

/** Answers the controller's requests for the files of a lease: `/files` and `/files/{name}`. `json` sends an answer. */
export async function serveFiles(
  files: SessionFiles,
  request: IncomingMessage,
  response: ServerResponse,
  json: (status: number, body: unknown) => void,
): Promise<void> {
  const [, encoded] = /^\/files\/([^/?]+)$/.exec(request.url ?? '') ?? [];
  if (encoded === undefined) {
    json(200, { files: files.list().map(describeFile) } satisfies z.infer<typeof runnerFiles>);
  } else if (request.method === 'PUT') {
    json(200, describeFile(await putFile(files, nameIn(encoded), request)));
  } else {
    const name = nameIn(encoded);
    const file = files.find(name);
    if (file === undefined) throw new OmicronError('file_not_found', `The session has no file "${name}".`);
    await sendFile(file, request, response);
  }
}

/** The rest of a refused file is read all the same: a peer that still sends reads no answer. */
async function putFile(files: SessionFiles, name: string, request: IncomingMessage): Promise<KeptFile> {
  try {
    return await files.put(name, request.iterator({ destroyOnReturn: false }));
  } catch (error) {
    await finished(request.resume()).catch(() => undefined);
    throw error;
  }
}

async function sendFile(file: KeptFile, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { path, name, bytes, mime_type: mimeType } = file;
  const { status, headers, range } = contentAnswer({ bytes, mimeType, name }, request.headers.range);
  const content = range && (await streamPlain(path, range));
  response.writeHead(status, headers);
  if (content === undefined) response.end();
  else await pipeline(content, response);
}

const describeFile = ({ name, source, bytes, mime_type }: KeptFile): SessionFile => ({
  name,
  source,
  bytes,
  mime_type,
});

function nameIn(encoded: string): string {
  const parsed = fileName.safeParse(decodeURIComponent(encoded));
  if (parsed.success) return parsed.data;
  throw new OmicronError('invalid_request', `The name of the file ${parsed.error.issues[0]?.message}.`);
}
