import { createWriteStream } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { OmicronError } from '../../contract/problem.ts';
import { refusalResult } from '../../contract/tool-failure.ts';
import { streamPlain } from '../files/plain-file.ts';
import type { KeptFile, LeaseFiles } from '../files/session-files.ts';
import { failureResult } from '../results/result.ts';

/** The lease's files of these names as paths that the browser reads; or the result that says why they are not uploaded. */
export async function filesToUpload(names: readonly string[], files: LeaseFiles): Promise<string[] | CallToolResult> {
  const found = names.map(name => files.find(name));
  const missing = names.filter((_, index) => found[index] === undefined);
  if (missing.length > 0) return fileNotFound(missing, files);
  const chosen = found.filter(file => file !== undefined);
  if (chosen.some(({ isTainted }) => isTainted)) return FILE_TAINTED;
  try {
    return await Promise.all(chosen.map(file => placed(file, files.uploadsDir)));
  } catch (error) {
    if (!(error instanceof OmicronError)) throw error;
    return failureResult(error.code, error.message);
  }
}

/** Copies a file to where the browser reads it, when the page or its form asks for it. */
async function placed({ name, path }: KeptFile, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o711 });
  const target = join(folder, name);
  await pipeline(await streamPlain(path), createWriteStream(target));
  await chmod(target, 0o644);
  return target;
}

/** Names that the agent gave, and those that there are. */
export const fileNotFound = (names: readonly string[], files: Pick<LeaseFiles, 'list'>): CallToolResult =>
  refusalResult({
    code: 'file_not_found',
    why: `This session has no file ${names.map(name => `"${name}"`).join(', ')}.`,
    instead: `Its files: ${
      files
        .list()
        .map(({ name }) => `"${name}"`)
        .join(', ') || 'none'
    }.`,
  });

/** A file that a page with a credential made could carry the credential out. */
export const FILE_TAINTED = refusalResult({
  code: 'file_closed',
  why: 'The file came from a page into which a credential was filled.',
  instead: 'The person can fetch it. Files of the pages after the login can be read.',
});
