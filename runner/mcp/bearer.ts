import type { Assignment } from '../../contract/assignment.ts';
import { mcpTokenExpiryMs } from '../../contract/mcp-token.ts';
import { CLOCK_SKEW_SECONDS, type ControllerKeys } from '../../contract/tokens.ts';

/** Whether a bearer token opens the lease's `/mcp` now: the derived one, or one that the controller signed and that has not expired. */
export async function opensLease(
  token: string,
  { mcp_token_sha256: digest, ...lease }: Assignment,
  { keys, nowMs }: { keys: ControllerKeys; nowMs: number },
): Promise<boolean> {
  const expMs = await mcpTokenExpiryMs(token, lease, digest, keys);
  return expMs !== undefined && expMs + CLOCK_SKEW_SECONDS * 1_000 >= nowMs;
}
