import type { IncomingMessage } from 'node:http';
import type { FastifyPluginAsync } from 'fastify';
import * as z from 'zod';
import { leaseEndedResult, takesProblems, whyLeaseEnded } from '../../contract/lease-ended.ts';
import { leaseMcpPath } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { toolsOf } from '../../contract/tool-list.ts';
import { passOn } from '../../http/pass-on.ts';
import { takeUrlToken } from '../../http/url-token.ts';
import type { McpAccess } from '../lease/mcp-access.ts';
import type { Directory } from '../store/directory.ts';
import type { RunnerRow } from '../store/rows.ts';
import { bearerOf } from './bearer.ts';

export interface LeaseMcpRoutes {
  directory: Directory;
  /** Address at which clients reach this controller, and no runner; undefined: they reach the runners. */
  publicUrl: string | undefined;
  /** Prefix of the names of runners' Services. */
  runnerNamePrefix: string;
  mcpAccess: McpAccess;
  version: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The runner whose lease the MCP token names; null on routes that take no such token. */
    endedRunner: RunnerRow | null;
  }
}

/** The Service of a runner that is gone leads here: its clients ask for `/mcp` of the runner's name. Answers the path to take. */
export const underRunnersName = (namePrefix: string) => {
  const name = new RegExp(`^${namePrefix}([0-9a-f-]{36})\\.`);
  return (request: Pick<IncomingMessage, 'url' | 'headers' | 'rawHeaders'>): string => {
    const url = takeUrlToken(request);
    const runnerId = url === '/mcp' ? name.exec(request.headers.host ?? '')?.[1] : undefined;
    return runnerId === undefined ? url : leaseMcpPath(runnerId);
  };
};

/** As a runner takes: a call may carry text to type. */
const BODY_BYTES_MAX = 4 * 1024 * 1024;

/**
 * MCP in place of a runner, for the holders of its lease's token. When the lease has ended it lists the tools as before, and answers
 * every call with the reason; its state is the runner's row. Until then, and where clients reach no runner, it passes requests on.
 */
export const leaseMcpRoutes: FastifyPluginAsync<LeaseMcpRoutes> = async (app, parts) => {
  const { directory, publicUrl, mcpAccess, version } = parts;
  app.decorateRequest('endedRunner', null);
  app.route<{ Params: { runner_id: string } }>({
    method: ['GET', 'POST', 'DELETE'],
    url: leaseMcpPath(':runner_id'),
    schema: { hide: true },
    bodyLimit: BODY_BYTES_MAX,
    async onRequest(request, reply) {
      const id = z.uuid().safeParse(request.params.runner_id).data;
      const row = id === undefined ? null : await directory.runner(id);
      if (row === null || !(await holdsLease(bearerOf(request), row, mcpAccess)))
        throw new OmicronError('unauthorized', 'The bearer token is not of a lease of this runner.');
      request.endedRunner = row;
      if (publicUrl === undefined || row.state !== 'leased') return;
      reply.hijack();
      passOn(request.raw, reply.raw, new URL(`${row.endpoint}/mcp`));
    },
    async handler(request, reply) {
      const reason = request.endedRunner?.reason ?? null;
      if (takesProblems(request.headers.accept)) throw new OmicronError('lease_ended', whyLeaseEnded(reason));
      return reply.send(await answerEnded(request, reason, version));
    },
  });
};

async function holdsLease(token: string, { id, session_id, epoch }: RunnerRow, access: McpAccess): Promise<boolean> {
  if (session_id === null || epoch === null) return false;
  return access.isOf(token, { session_id, epoch, runner_id: id });
}

interface McpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: unknown;
}

async function answerEnded({ method, url, headers, body }: McpRequest, reason: string | null, version: string) {
  // loaded when it is needed: the MCP SDK is 10 MB of memory
  const { createMcpHandler, Server } = await import('@modelcontextprotocol/server');
  const handler = createMcpHandler(() => {
    const options = { capabilities: { tools: {} }, instructions: whyLeaseEnded(reason) };
    const server = new Server({ name: 'omicron-browser', version }, options);
    server.setRequestHandler('tools/list', () => ({ tools: [...toolsOf('both')] }));
    server.setRequestHandler('tools/call', () => leaseEndedResult(reason));
    return server;
  });
  const own = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  const request = new Request(new URL(url, 'http://127.0.0.1'), { method, headers: own });
  const response = await handler.fetch(request, method === 'POST' ? { parsedBody: body } : {});
  response.headers.delete('connection'); // the library's says keep-alive, whatever the client asked for
  return response;
}
