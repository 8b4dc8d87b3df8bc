import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { connectMcp } from '../../client/mcp.ts';
import { OmicronError } from '../../contract/problem.ts';

async function failureAt(port: number): Promise<OmicronError> {
  const address = { mcpUrl: `http://127.0.0.1:${port}/mcp`, headers: {} };
  const error = await connectMcp(address, fetch, new AbortController().signal).catch((reason: unknown) => reason);
  if (error instanceof OmicronError) return error;
  throw error;
}

it('tells a browser that was never reached from a connection that broke, whose call may have run', async () => {
  const server = createServer(socket => socket.once('data', () => socket.resetAndDestroy())).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const broken = await failureAt(port);
  expect(broken).toMatchObject({
    code: 'browser_unreachable',
    message: expect.stringContaining('may have had its effect'),
  });
  server.close();
  await once(server, 'close');
  const refused = await failureAt(port);
  expect(refused).toMatchObject({ code: 'browser_unreachable', message: expect.stringContaining('nothing was done') });
});
