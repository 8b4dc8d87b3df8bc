import { OmicronError } from '../contract/problem.ts';
import type { ConnectedBrowser, LeasedBrowser } from './leased-browser.ts';
import { connectMcp, type McpConnection } from './mcp.ts';

/** Connects to a leased browser and lists its tools. Calls are aborted when the lease is lost, released or ended. */
export async function connectBrowser<Held extends LeasedBrowser>(
  lease: Held,
  fetch: typeof globalThis.fetch,
): Promise<ConnectedBrowser<Held>> {
  const mcp: McpConnection = await explained(lease, () => connectMcp(lease, fetch, lease.signal));
  return {
    lease,
    tools: mcp.tools,
    instructions: mcp.instructions,
    callTool(name, args = {}, { signal } = {}) {
      const either = signal ? AbortSignal.any([lease.signal, signal]) : lease.signal;
      return explained(lease, () => mcp.callTool(name, args, either));
    },
    [Symbol.asyncDispose]: () => lease.release(),
  };
}

/** Leases and connects in one step; a lease that cannot be connected to is released. */
export async function acquireAndConnect<Held extends LeasedBrowser>(
  acquire: () => Promise<Held>,
  fetch: typeof globalThis.fetch,
): Promise<ConnectedBrowser<Held>> {
  const lease = await acquire();
  try {
    return await connectBrowser(lease, fetch);
  } catch (error) {
    await lease.release();
    throw error;
  }
}

/**
 * A browser that does not answer, or refuses the token, may be one whose lease has ended: then that is the error. Where the token alone
 * has expired, the call, which has not begun, is made with the next one.
 */
async function explained<T>(lease: LeasedBrowser, call: () => Promise<T>): Promise<T> {
  const { headers } = lease;
  try {
    return await call();
  } catch (error) {
    if (error instanceof OmicronError && error.code !== 'invalid_request') {
      await lease.heartbeat().catch(() => {}); // what it says is in `signal`
      lease.signal.throwIfAborted();
      if (error.code === 'unauthorized' && lease.headers.Authorization !== headers.Authorization) return call();
    }
    throw error;
  }
}
