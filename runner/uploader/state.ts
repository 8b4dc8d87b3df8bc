import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { openPlain } from '../files/plain-file.ts';

/**
 * Beside the recordings, mode 0600: what a restarted uploader must know. The role can ask the bucket for none of it.
 */
export const STATE_FILE = 'upload-state.json';

const fileState = z.object({
  /** The multipart upload under way, and the parts that the bucket has. */
  upload: z
    .object({
      id: z.string(),
      parts: z.array(z.object({ number: z.int(), etag: z.string(), crc32: z.string() })),
    })
    .optional(),
  /** Written before a request that makes the object: how many bytes it would have. */
  attemptedBytes: z.int().optional(),
  /** The object is there, with this many bytes. */
  storedBytes: z.int().optional(),
  /** Its outcome was reported to the controller. */
  reported: z.boolean().optional(),
});
export type FileState = z.infer<typeof fileState>;
const schema = z.object({ files: z.record(z.string(), fileState) });

/** State of each file, kept across restarts. */
export interface UploadState {
  of(name: string): FileState;
  readonly all: ReadonlyMap<string, FileState>;
  /** To disk, before or after the step it records; rejects when the disk does. */
  save(): Promise<void>;
  remove(): Promise<void>;
}

/** Reads the state of this folder; a state that cannot be understood is the same as none: uploads start over. */
export async function openState(outputDir: string): Promise<UploadState> {
  const path = join(outputDir, STATE_FILE);
  const files = new Map(Object.entries(await readFiles(path)));
  return {
    all: files,
    of(name) {
      const known = files.get(name) ?? {};
      files.set(name, known);
      return known;
    },
    async save() {
      const file = await open(`${path}.tmp`, 'w', 0o600);
      try {
        await file.writeFile(JSON.stringify({ files: Object.fromEntries(files) }));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(`${path}.tmp`, path);
    },
    remove: () => rm(path, { force: true }),
  };
}

async function readFiles(path: string): Promise<Record<string, FileState>> {
  const text = await openPlain(path).then(
    file => file.readFile('utf8').finally(() => file.close()),
    () => undefined,
  );
  if (text === undefined) return {};
  try {
    return schema.parse(JSON.parse(text)).files;
  } catch {
    return {};
  }
}
