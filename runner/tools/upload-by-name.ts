import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { filesToUpload } from '../acting/files-to-upload.ts';
import type { BrowserCall } from './playwright-form.ts';

const uploadArguments = z.object({ paths: z.array(z.string()).optional() });

/** Gives a tool that takes paths those of the lease's files of these names: an agent reaches no others. */
export async function uploadByName(
  args: Record<string, unknown>,
  { lease: { files }, ask }: { readonly lease: Pick<BrowserCall['lease'], 'files'> } & Pick<BrowserCall, 'ask'>,
): Promise<CallToolResult> {
  const { data: { paths: names } = {} } = uploadArguments.safeParse(args);
  // Without names a chooser is cancelled; what is wrong otherwise, Playwright MCP says.
  if (names === undefined) return ask(args);
  const paths = await filesToUpload(names, files);
  if (!Array.isArray(paths)) return paths;
  return withoutFolder(await ask({ ...args, paths }), files.uploadsDir);
}

/** The agent knows names, no paths. */
const withoutFolder = (result: CallToolResult, folder: string): CallToolResult => ({
  ...result,
  content: result.content.map(part =>
    part.type === 'text' ? { ...part, text: part.text.replaceAll(`${folder}/`, '') } : part,
  ),
});
