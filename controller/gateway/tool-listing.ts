import { SHOW_TOOL } from '../../contract/app-names.ts';
import type { Toolset } from '../../contract/assignment.ts';
import { type AppTool, isAppTool, withApp } from '../../contract/mcp-app.ts';
import type { LayeredPolicy } from '../../contract/policy/document.ts';
import { isNeverAllowed } from '../../contract/policy/tools.ts';
import { type ListedTool, toolsOf } from '../../contract/tool-list.ts';
import type { Policies } from '../store/policies.ts';
import { HANDLE, HANDLE_HEADER_NAME } from './handle.ts';

const HANDLE_SCHEMA = {
  type: 'string',
  description: 'Any name, the same in all calls of one conversation',
  'x-mcp-header': HANDLE_HEADER_NAME,
} as const;

/** A tool with the conversation's handle among its arguments. */
const withHandle = <T extends ListedTool>(tool: T): T => ({
  ...tool,
  inputSchema: { ...tool.inputSchema, properties: { ...tool.inputSchema.properties, [HANDLE]: HANDLE_SCHEMA } },
});

/** The tools of a runner, as listed for a client that shows apps, and for one that shows none. */
export interface GatewayTools {
  readonly plain: readonly ListedTool[];
  readonly apps: readonly AppTool[];
}

export function gatewayTools(toolset: Toolset): GatewayTools {
  const tools = toolsOf(toolset);
  return { plain: tools.map(withHandle), apps: withApp(tools).map(withHandle) };
}

/** Those that some call of this user may get through. A policy of one session is known to its runner alone. */
export async function toolsForUser(
  { plain, apps }: GatewayTools,
  { userId, showsApps }: { userId: string; showsApps: boolean },
  policies: Policies,
): Promise<AppTool[]> {
  const layers: LayeredPolicy[] = [];
  for (const [layer, subject] of [
    ['deployment', ''],
    ['user', userId],
  ] as const) {
    const policy = await policies.get(layer, subject);
    if (policy !== null) layers.push({ layer, policy });
  }
  const tools = showsApps && !isNeverAllowed(layers, SHOW_TOOL) ? apps : plain;
  return tools.filter(({ name }) => isAppTool(name) || !isNeverAllowed(layers, name));
}
