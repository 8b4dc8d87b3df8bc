import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import type { Toolset } from '../../contract/assignment.ts';
import { startLease } from '../runner/start-lease.ts';

/** The answer of a real runner's `tools/list` to a lease with this toolset. */
export async function toolList(toolset: Toolset): Promise<Tool[]> {
  await using lease = await startLease({ recordVideo: false, toolset });
  return (await lease.client.listTools()).tools;
}
