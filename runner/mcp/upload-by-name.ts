import { createWriteStream } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { streamPlain } from '../files/plain-file.ts';
import type { KeptFile, LeaseFiles } from '../files/session-files.ts';
import { FILE_TAINTED, fileNotFound } from '../tools/files.ts';
import type { PlaywrightMcp } from './playwright-mcp.ts';

const uploadArguments = z.object({ paths: z.array(z.string()).optional() });

/** A tool of Playwright MCP that takes paths, by the names of the lease's files: an agent reaches no others. */
export async function uploadByName(
  tool: string,
  args: Record<string, unknown>,
  signal: AbortSignal,
  playwright: Pick<PlaywrightMcp, 'call' | 'uploadsDir'>,
  files: LeaseFiles,
): Promise<CallToolResult> {
  const { data: { paths: names } = {} } = uploadArguments.safeParse(args);
  // Without names a chooser is cancelled; what is wrong otherwise, Playwright MCP says.
  if (names === undefined) return playwright.call(tool, args, signal);
  const found = names.map(name => files.find(name));
  const missing = names.filter((_, index) => found[index] === undefined);
  if (missing.length > 0) return fileNotFound(missing, files);
  const chosen = found.filter(file => file !== undefined);
  if (chosen.some(({ isTainted }) => isTainted)) return FILE_TAINTED;
  const { uploadsDir } = playwright;
  const paths = await Promise.all(chosen.map(file => placed(file, uploadsDir)));
  const result = await playwright.call(tool, { ...args, paths }, signal);
  return withoutFolder(result, uploadsDir);
}

/** Copies a file to where the browser reads it, when the page or its form asks for it. */
async function placed({ name, path }: KeptFile, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o711 });
  const target = join(folder, name);
  await pipeline(await streamPlain(path), createWriteStream(target));
  await chmod(target, 0o644);
  return target;
}

/** The agent knows names, no paths. */
const withoutFolder = (result: CallToolResult, folder: string): CallToolResult => ({
  ...result,
  content: result.content.map(part =>
    part.type === 'text' ? { ...part, text: part.text.replaceAll(`${folder}/`, '') } : part,
  ),
});
