import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { runnerFiles, sessionFile } from '../../contract/files.ts';
import { OmicronError, problemSchema } from '../../contract/problem.ts';
import type { FileAnswer, RunnerFiles } from '../ports/runner-files.ts';

/** A runner that is silent for this long is not reached. */
const SILENT_MS = 30_000;
/** Headers of a content's answer that are passed on. */
const PASSED_ON = [
  ...['accept-ranges', 'cache-control', 'content-disposition', 'content-length', 'content-range', 'content-type'],
  'x-content-type-options',
];

/** Speaks HTTP to runners, by streams: a file is in no memory as a whole. */
export const httpRunnerFiles: RunnerFiles = {
  async list(endpoint, token) {
    const answer = await requireAccepted(await send(endpoint, '/files', { method: 'GET', token }));
    return runnerFiles.parse(await json(answer)).files;
  },
  async put(endpoint, token, { name, content, bytes }) {
    const answer = await requireAccepted(await send(endpoint, pathOf(name), { method: 'PUT', token, content, bytes }));
    return sessionFile.parse(await json(answer));
  },
  async read(endpoint, token, name, range) {
    const answer = await send(endpoint, pathOf(name), { method: 'GET', token, range });
    return contentOf(answer.statusCode === 416 ? answer : await requireAccepted(answer));
  },
};

interface Sent {
  readonly method: 'GET' | 'PUT';
  readonly token: string;
  readonly content?: Readable;
  readonly bytes?: number | undefined;
  readonly range?: string | undefined;
}

const pathOf = (name: string): string => `/files/${encodeURIComponent(name)}`;

function send(
  endpoint: string,
  path: string,
  { method, token, content, bytes, range }: Sent,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const headers = {
    authorization: `Bearer ${token}`,
    ...(bytes === undefined ? {} : { 'content-length': bytes }),
    ...(range === undefined ? {} : { range }),
  };
  const request = httpRequest(`${endpoint}${path}`, { method, headers, agent: false, timeout: SILENT_MS });
  request.once('response', resolve);
  request.once('timeout', () => request.destroy(new Error('it was silent for too long')));
  request.on('error', cause =>
    reject(new OmicronError('lease_ended', `The browser does not answer: ${cause.message}. Request the lease again.`)),
  );
  // An answer that comes before the whole was sent, such as a refusal, ends the sending.
  if (content === undefined) request.end();
  else void pipeline(content, request).catch(() => undefined);
  return promise;
}

async function requireAccepted(answer: IncomingMessage): Promise<IncomingMessage> {
  if (answer.statusCode === 200 || answer.statusCode === 206) return answer;
  const problem = problemSchema.safeParse(await json(answer).catch(() => undefined));
  if (problem.success) throw OmicronError.fromProblem(problem.data);
  // Node.js's own: the runner reads what the caller sends, as it comes.
  if (answer.statusCode === 408) throw new OmicronError('invalid_request', 'The file was not sent within 30 seconds.');
  throw new OmicronError('lease_ended', `The browser answered ${answer.statusCode}. Request the lease again.`);
}

function contentOf(answer: IncomingMessage): FileAnswer {
  const headers = PASSED_ON.flatMap(name => {
    const value = answer.headers[name];
    return typeof value === 'string' ? [[name, value] as const] : [];
  });
  return { status: answer.statusCode ?? 502, headers: Object.fromEntries(headers), stream: answer };
}
