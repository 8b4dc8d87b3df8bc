import type { Toolset } from '../../contract/assignment.ts';
import type { LayeredPolicy } from '../../contract/policy/document.ts';
import { neverAllowed } from '../../contract/policy/tools.ts';
import { type ListedTool, toolsOf } from '../../contract/tool-list.ts';
import type { Policies } from '../store/policies.ts';
import { HANDLE, HANDLE_HEADER_NAME } from './handle.ts';

const HANDLE_SCHEMA = {
  type: 'string',
  description: 'Any name, the same in all calls of one conversation',
  'x-mcp-header': HANDLE_HEADER_NAME,
} as const;

/** The tools of a runner, each with the conversation's handle among its arguments. */
export function gatewayTools(toolset: Toolset): readonly ListedTool[] {
  return toolsOf(toolset).map(tool => ({
    ...tool,
    inputSchema: { ...tool.inputSchema, properties: { ...tool.inputSchema.properties, [HANDLE]: HANDLE_SCHEMA } },
  }));
}

/** Those that some call of this user may get through. A policy of one session is known to its runner alone. */
export async function toolsForUser(tools: readonly ListedTool[], userId: string, policies: Policies) {
  const layers: LayeredPolicy[] = [];
  for (const [layer, subject] of [
    ['deployment', ''],
    ['user', userId],
  ] as const) {
    const policy = await policies.get(layer, subject);
    if (policy !== null) layers.push({ layer, policy });
  }
  return tools.filter(({ name }) => !neverAllowed(layers, name));
}
