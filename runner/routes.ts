import * as z from 'zod';
import { assignAnswer, drainAnswer, runnerHealth, signedToken } from '../contract/assignment.ts';
import { fileName, runnerFiles, sessionFile } from '../contract/files.ts';
import { hibernateAnswer } from '../contract/hibernation.ts';
import { LIVE_PROTOCOL, liveTokenProtocol } from '../contract/live-limits.ts';
import { profileCheck, profileSaved } from '../contract/profile.ts';

/** A route in the form that Fastify's OpenAPI documents are made of. */
interface RunnerRoute {
  readonly tag: string;
  /** Scheme of the token that the route takes in a header; none: the token is in the body, or there is none. */
  readonly security: keyof typeof RUNNER_TOKENS | 'none';
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly params?: z.ZodObject;
  readonly consumes?: readonly string[];
  readonly body?: z.ZodType;
  readonly response: Readonly<Record<number, z.ZodType | { description: string; content?: object }>>;
}

/** Tokens that routes take in a header. */
export const RUNNER_TOKENS = {
  lease: 'Token of the lease, as `mcp_token` of get-or-create has it, or one that the controller issued for a user.',
  files: 'EdDSA, issued by the controller to read and write the files of this runner.',
  viewer: `Live token of a viewer, in the header Sec-WebSocket-Protocol: \`${LIVE_PROTOCOL}, ${liveTokenProtocol('<token>')}\`.`,
} as const;

/** Content of a file, which streams: no schema parses it. */
const BYTES = { 'application/octet-stream': { schema: z.any() } };

/** Answer of probes that know other MCP servers. */
const probeAnswer = z
  .object({ status: z.enum(['ok', 'unavailable']).describe('Whether the browser answered.') })
  .meta({ id: 'ProbeAnswer' });

/** Messages of JSON-RPC 2.0, which the MCP SDK parses: <https://modelcontextprotocol.io/specification/2025-11-25/basic>. */
const jsonrpc = z.literal('2.0').describe('Version of JSON-RPC.');
const mcpMessage = z
  .looseObject({
    jsonrpc,
    id: z.union([z.string(), z.int()]).optional().describe('Id of the request; absent: a notification.'),
    method: z.string().optional().describe('Method of MCP, such as `tools/call`.'),
    params: z.looseObject({}).optional().describe('Parameters of the method.'),
  })
  .meta({ id: 'McpMessage' });
const mcpAnswer = z
  .looseObject({
    jsonrpc,
    id: z.union([z.string(), z.int()]).describe('Id of the request.'),
    result: z.looseObject({}).optional().describe('Result of the method; a tool that fails has one too.'),
    error: z.looseObject({}).optional().describe('Reason why the method was not carried out.'),
  })
  .meta({ id: 'McpAnswer' });

const mcpContent = {
  description: 'The answer, as JSON or as a stream of events, as the header Accept asks for',
  content: {
    'application/json': { schema: mcpAnswer },
    'text/event-stream': { schema: z.string() },
  },
};

const named = z.object({ name: fileName.describe('Name of the file within its session.') });

/** An order of the controller: the token in its body is signed for this boot of this runner, and names the order. */
const order = <Answer extends z.ZodType>(operationId: string, summary: string, answer: Answer) =>
  ({ tag: 'orders', security: 'none', operationId, summary, body: signedToken, response: { 200: answer } }) as const;

const health = <Answer extends z.ZodType>(operationId: string, summary: string, answer: Answer) =>
  ({ tag: 'health', security: 'none', operationId, summary, response: { 200: answer, 503: answer } }) as const;

/** Every route of a runner, by path and method. `http.ts` serves them and parses with these schemas; docs/runner-openapi.json describes them. */
export const RUNNER_ROUTES = {
  '/assign': {
    POST: order('assignLease', 'Gives a warm runner its lease; the same token gets the same answer', assignAnswer),
  },
  '/drain': {
    POST: order('drainRunner', 'Ends the lease; answered when no agent is served any more', drainAnswer),
  },
  '/save-profile': {
    POST: order('saveLeaseProfile', "Saves the lease's profile now", profileSaved),
  },
  '/hibernate': {
    POST: order('hibernateLease', 'Hibernates the session; the runner ends', hibernateAnswer),
  },
  '/check-login': {
    POST: order('checkLogin', "Looks whether the login of the lease's profile still holds", profileCheck),
  },
  '/healthz': {
    GET: health('readRunnerHealth', 'Health of the runner and its browser', runnerHealth),
  },
  '/health': {
    GET: health('probeRunner', 'Health in the form of other MCP servers; `/healthz` has the details', probeAnswer),
  },
  '/mcp': {
    POST: {
      tag: 'mcp',
      security: 'lease',
      operationId: 'sendMcpMessage',
      summary: 'MCP (Streamable HTTP): calls a tool, lists tools and resources',
      description:
        'The path may be `/mcp/<token>` for clients that can send no header. Revisions 2026-07-28, 2025-11-25 and earlier are served, without sessions. GET and DELETE are answered with 405: there is no stream to listen to, and no session to end.',
      body: mcpMessage,
      response: { 200: mcpContent, 202: z.null().describe('A notification was taken') },
    },
  },
  '/files': {
    GET: {
      tag: 'files',
      security: 'files',
      operationId: 'listLeaseFiles',
      summary: 'Files of the lease: brought in, and downloaded by its browser',
      response: { 200: runnerFiles },
    },
  },
  '/files/{name}': {
    GET: {
      tag: 'files',
      security: 'files',
      operationId: 'readLeaseFile',
      summary: 'The bytes of a file, or with the header Range one part of them (206)',
      params: named,
      response: {
        200: { description: 'The whole', content: BYTES },
        206: { description: 'The part that Range asked for', content: BYTES },
        416: z.null().describe('The file has no such part'),
      },
    },
    PUT: {
      tag: 'files',
      security: 'files',
      operationId: 'putLeaseFile',
      summary: 'Brings a file to the browser, for its uploads; a name is given once in a lease',
      params: named,
      consumes: ['application/octet-stream'],
      body: z.any(),
      response: { 200: sessionFile },
    },
  },
  '/live': {
    GET: {
      tag: 'live view',
      security: 'viewer',
      operationId: 'openLiveView',
      summary: 'A WebSocket with pictures of the browser, and input of the person in control',
      description: 'docs/live-view.md describes its messages.',
      response: { 101: z.null().describe('The WebSocket is open') },
    },
  },
} as const satisfies Record<string, Partial<Record<'GET' | 'POST' | 'PUT', RunnerRoute>>>;
