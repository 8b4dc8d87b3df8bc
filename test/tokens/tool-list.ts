import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import type { Toolset } from '../../contract/assignment.ts';
import { startFakeController } from '../fakes/controller.ts';
import { connect, startRunner } from '../runner/start.ts';

/** What `tools/list` of a real runner answers to a lease with this toolset. */
export async function toolList(toolset: Toolset): Promise<Tool[]> {
  const controller = await startFakeController();
  const runner = await startRunner(controller);
  try {
    const { token, mcpToken } = await controller.assignment(runner, { recordVideo: false, toolset });
    await runner.post('/assign', { token });
    const client = await connect(runner.url, mcpToken);
    const { tools } = await client.listTools();
    await client.close();
    return tools;
  } finally {
    await runner.dispose();
    await controller.close();
  }
}
