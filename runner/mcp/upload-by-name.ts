import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { LeaseFiles } from '../files/session-files.ts';
import { filesToUpload } from '../tools/upload.ts';
import type { PlaywrightMcp } from './playwright-mcp.ts';

const uploadArguments = z.object({ paths: z.array(z.string()).optional() });

/** A tool of Playwright MCP that takes paths, by the names of the lease's files: an agent reaches no others. */
export async function uploadByName(
  tool: string,
  args: Record<string, unknown>,
  signal: AbortSignal,
  playwright: Pick<PlaywrightMcp, 'call'>,
  files: LeaseFiles,
): Promise<CallToolResult> {
  const { data: { paths: names } = {} } = uploadArguments.safeParse(args);
  // Without names a chooser is cancelled; what is wrong otherwise, Playwright MCP says.
  if (names === undefined) return playwright.call(tool, args, signal);
  const paths = await filesToUpload(names, files);
  if (!Array.isArray(paths)) return paths;
  return withoutFolder(await playwright.call(tool, { ...args, paths }, signal), files.uploadsDir);
}

/** The agent knows names, no paths. */
const withoutFolder = (result: CallToolResult, folder: string): CallToolResult => ({
  ...result,
  content: result.content.map(part =>
    part.type === 'text' ? { ...part, text: part.text.replaceAll(`${folder}/`, '') } : part,
  ),
});
