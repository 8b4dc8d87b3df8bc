import type { CallToolResult, ClientCapabilities } from '@modelcontextprotocol/client';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { mcpEndpoint } from '../../../runner/mcp/endpoint.ts';
import { type Clock, realClock } from '../../../time/clock.ts';
import { type FakeIssuer, fakeIssuer } from '../../fakes/issuer.ts';
import { type Deployment, deployment, type Stack, startStack } from '../stack.ts';
import { asIngress } from './as-ingress.ts';

export const GATEWAY = 'https://browsers.example/mcp';
export const HOST = new URL(GATEWAY).host;

export interface RanCall {
  readonly runner: number;
  readonly name: string;
  readonly args: Record<string, unknown>;
}

/** Controllers with a gateway, whose runners serve MCP without a browser and remember each call. */
export interface Gateway extends AsyncDisposable {
  readonly shared: Deployment;
  readonly issuer: FakeIssuer;
  /** Every call that a runner ran, in order; runners are counted from 1. */
  readonly ran: RanCall[];
  /** Calls that were cancelled at their runner. */
  readonly cancelled: string[];
  replica(settings?: Record<string, unknown>, clock?: Clock): Promise<Stack>;
}

/** The tool whose calls run until they are cancelled. */
export const HOLD = 'browser_wait_for';

/** Calls of the tool `HOLD` run until they are cancelled; of all others they answer at once. */
export async function startGateway(settings: Record<string, unknown> = {}): Promise<Gateway> {
  const issuer = await fakeIssuer(GATEWAY);
  const shared = await deployment({
    OMICRON_GATEWAY_URL: GATEWAY,
    OMICRON_GATEWAY_ISSUER: issuer.url,
    OMICRON_POOL_IDLE: 1,
    ...settings,
  });
  const ran: RanCall[] = [];
  const cancelled: string[] = [];
  let runners = 0;
  shared.machine.mcp = () => {
    runners += 1;
    const runner = runners;
    return mcpEndpoint(
      {
        listTools: () => [],
        listResources: () => [],
        readResource: async () => ({ contents: [] }),
        instructions: '',
        endsLease: () => false,
        async call(name, args, { signal }): Promise<CallToolResult> {
          ran.push({ runner, name, args });
          if (name === HOLD) {
            await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }));
            cancelled.push(String(args.of));
          }
          return { content: [{ type: 'text', text: `runner ${runner} ran ${name}` }] };
        },
      },
      realClock,
    );
  };
  const replicas: Stack[] = [];
  return {
    ...{ shared, issuer, ran, cancelled },
    async replica(change = {}, clock = realClock) {
      const stack = await startStack(change, shared, clock);
      replicas.push(stack);
      return stack;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(replicas.map(each => each.stop()));
      await shared[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
    },
  };
}

/** An MCP client of a replica's gateway, as an ingress passes it on. */
export async function gatewayClient(
  at: { url: string },
  token: string,
  mode: 'legacy' | 'auto' = 'auto',
  capabilities: ClientCapabilities = {},
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities, versionNegotiation: { mode } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', at.url), { requestInit, fetch: asIngress(HOST) }),
  );
  return client;
}

export const textOf = (result: { content: unknown }): string =>
  (result.content as { text?: string }[]).map(({ text = '' }) => text).join('\n'); // of every tool result
