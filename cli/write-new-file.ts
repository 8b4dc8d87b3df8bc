import { writeFile } from 'node:fs/promises';
import { UsageError } from './exit.ts';

/** Writes a file that is not there yet. Throws UsageError where it is, or cannot be written. */
export async function writeNewFile(path: string, content: string | Uint8Array, mode = 0o666): Promise<void> {
  await writeFile(path, content, { mode, flag: 'wx' }).catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'EEXIST' ? 'it exists already; remove it, or choose another' : cause.message;
    throw new UsageError(`${path} cannot be written: ${why}.`);
  });
}
