import { type IncomingMessage, request as requestHttp, type ServerResponse } from 'node:http';
import { answerFields, requestFields } from './end-to-end.ts';

/**
 * Passes a request on to another server, under its own host, and the answer back as it comes. When either end breaks off, so does the
 * other.
 */
export function passOn(request: IncomingMessage, response: ServerResponse, to: URL): void {
  const onward = requestHttp(to, { method: request.method, headers: requestFields(request, to.host) });
  onward.on('response', answer => {
    response.writeHead(answer.statusCode ?? 502, answerFields(answer));
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}
