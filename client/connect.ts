import { OmicronError } from '../contract/problem.ts';
import type { ChosenProfile, ConnectedBrowser, LeasedBrowser } from './leased-browser.ts';
import { mayHaveBeenSent } from './may-have-been-sent.ts';
import { connectMcp, type McpConnection } from './mcp.ts';

/** Connects to a leased browser and lists its tools. Calls are aborted when the lease is lost, released or ended. */
export async function connectBrowser<Held extends LeasedBrowser>(
  lease: Held,
  fetch: typeof globalThis.fetch,
): Promise<ConnectedBrowser<Held>> {
  let connected: { mcpUrl: string; mcp: Promise<McpConnection> } | undefined;
  /** The browser that the lease has now: one that was hibernated comes back at another address. */
  const connection = (): Promise<McpConnection> => {
    const { mcpUrl } = lease;
    if (connected?.mcpUrl !== mcpUrl) {
      const opened = { mcpUrl, mcp: connectMcp(lease, fetch, lease.signal) };
      connected = opened;
      opened.mcp.catch(() => {
        if (connected === opened) connected = undefined;
      });
    }
    return connected.mcp;
  };
  const { tools, instructions } = await explainFailure(lease, connection);
  return {
    lease,
    tools,
    instructions,
    callTool(name, args = {}, { signal } = {}) {
      const either = signal ? AbortSignal.any([lease.signal, signal]) : lease.signal;
      const call = async () => {
        await lease.restore(); // the runner of a session that is known to hibernate may still be there, and break the call
        return explainFailure(lease, async () => (await connection()).callTool(name, args, either));
      };
      return name === SWITCH_TOOL ? lease.followSwitch(call, ({ isError }) => chosenProfile(isError, args)) : call();
    },
    [Symbol.asyncDispose]: () => lease.release(),
  };
}

/** The tool by which an agent goes on with another profile: its lease is followed by one in another epoch, at another address. */
const SWITCH_TOOL = 'setProfile';

function chosenProfile(isError: boolean, args: Record<string, unknown>): ChosenProfile | undefined {
  const { profileName, mode } = args;
  if (isError || (profileName !== null && typeof profileName !== 'string')) return undefined;
  return { profile: profileName, ...((mode === 'read-only' || mode === 'read-write') && { profileMode: mode }) };
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

/** The runner refused the call, or there was none any more. */
const isNotCarriedOut = ({ code, cause }: OmicronError): boolean =>
  code === 'lease_ended' || (code === 'browser_unreachable' && !mayHaveBeenSent(cause));

/**
 * A browser that does not answer, or refuses the token, may be one whose lease has ended: then that is the error. A hibernated
 * one is brought back; a call that was not carried out is made then, and so is one whose token alone has expired, with the next one.
 */
async function explainFailure<T>(lease: LeasedBrowser, call: () => Promise<T>): Promise<T> {
  const { headers, mcpUrl } = lease;
  try {
    return await call();
  } catch (error) {
    if (error instanceof OmicronError && error.code !== 'invalid_request') {
      await lease.heartbeat().catch(() => {}); // what it says is in `signal`
      lease.signal.throwIfAborted();
      const restored = (await lease.restore()) || lease.mcpUrl !== mcpUrl;
      if (restored && isNotCarriedOut(error)) return call();
      if (error.code === 'unauthorized' && lease.headers.Authorization !== headers.Authorization) return call();
    }
    throw error;
  }
}
