import * as z from 'zod';
import { TOOLSETS, type Toolset } from './assignment.ts';
import lists from './tool-list.json' with { type: 'json' };

/** A tool as `tools/list` of MCP shows it. */
export const listedTool = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string(),
  inputSchema: z.looseObject({
    type: z.literal('object'),
    properties: z.record(z.string(), z.record(z.string(), z.json())).optional(),
    required: z.array(z.string()).optional(),
  }),
  outputSchema: z.looseObject({ type: z.literal('object') }).optional(),
  annotations: z.record(z.string(), z.boolean()),
});
export type ListedTool = z.infer<typeof listedTool>;

const toolLists = z.record(z.enum(TOOLSETS), z.array(listedTool));

/**
 * The tools of each toolset where no policy removes one, for programs that answer `tools/list` without a runner.
 * `npm run tools` writes the file from what runners list.
 */
export const toolsOf = (toolset: Toolset): readonly ListedTool[] => toolLists.parse(lists)[toolset];
