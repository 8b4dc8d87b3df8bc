import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { FILE_SOURCES, type FileSource, type SessionFile } from '../../contract/files.ts';
import { FILE_FOLDERS } from '../../contract/names.ts';
import { OmicronError } from '../../contract/problem.ts';
import { mimeTypeOf } from '../../http/mime-type.ts';
import type { FileLimits } from './limits.ts';
import { freeName, safeFileName } from './names.ts';
import { openPlain, readRange } from './plain-file.ts';
import { textIn } from './text.ts';
import { uploadQuota } from './upload-quota.ts';

/** A file of the lease, whole and never changed again. */
export interface KeptFile extends SessionFile {
  /** On the runner's disk. */
  readonly path: string;
  readonly sha256: string;
  /** Whether it is a text of at most `TEXT_BYTES_MAX`. */
  readonly isText: boolean;
  /** Sent by a page that may have held a secret: no agent gets it, in whatever form. */
  readonly isTainted: boolean;
}

/**
 * The files of one lease: what its platform brought in, and what its browser downloaded. A name is given once. They lie where the
 * lease's uploader finds them, so that they are kept.
 */
export interface SessionFiles {
  /** In the order of their arrival. */
  list(): readonly KeptFile[];
  find(name: string): KeptFile | undefined;
  /**
   * Stores what is brought in; `name` was checked. The same bytes under the same name are the same file. Throws `file_exists`,
   * `payload_too_large` and `files_quota_exceeded`.
   */
  put(name: string, content: AsyncIterable<Uint8Array>): Promise<KeptFile>;
  /** Stores a copy of a finished download under a name that is free. A short text is stored without the lease's secrets. */
  keepDownload(suggestedName: string, path: string, about: Pick<KeptFile, 'isTainted'>): Promise<KeptFile>;
}

/** As the tools of the lease read them. */
export interface LeaseFiles extends Pick<SessionFiles, 'list' | 'find'> {
  /** False for a tainted file, and for what a page sent, once a credential was filled in: bytes could hold it in a form that is not known. */
  mayReadBytes(file: KeptFile): boolean;
  /** From here files are uploaded: the browser's user reads what lies there. */
  readonly uploadsDir: string;
}

export interface SessionFilesOptions {
  readonly outputDir: string;
  readonly limits: FileLimits;
  /** Runs before the first file is stored: what the uploader needs is on disk then. */
  readonly beforeFirst: () => Promise<void>;
  /** Takes secrets out of a text. */
  readonly conceal: (text: string) => Promise<string>;
  readonly onAdded: (file: KeptFile) => void;
}

/** Longer texts are not searched for secrets as a whole: they are kept as their site sent them. */
export const TEXT_BYTES_MAX = 1024 * 1024;

export function sessionFiles({ outputDir, limits, beforeFirst, conceal, onAdded }: SessionFilesOptions): SessionFiles {
  const files = new Map<string, KeptFile>();
  /** Names that are being given. */
  const taken = new Set<string>();
  const begin = uploadQuota(limits);
  let prepared: Promise<void> | undefined;

  async function prepare(): Promise<void> {
    await beforeFirst();
    for (const source of FILE_SOURCES) await mkdir(join(outputDir, FILE_FOLDERS[source]), { recursive: true });
  }
  const folderOf = async (source: FileSource): Promise<string> => {
    prepared ??= prepare();
    await prepared;
    return join(outputDir, FILE_FOLDERS[source]);
  };

  /** Writes the content aside, then gives it its name: the uploader sees whole files only. */
  async function store(
    { source, name, isTainted }: Pick<KeptFile, 'source' | 'name' | 'isTainted'>,
    content: AsyncIterable<Uint8Array>,
  ): Promise<KeptFile> {
    const folder = await folderOf(source);
    const aside = join(folder, `.${randomUUID()}`);
    try {
      const hash = createHash('sha256');
      let bytes = 0;
      await pipeline(
        content,
        async function* (chunks: AsyncIterable<Uint8Array>) {
          for await (const chunk of chunks) {
            bytes += chunk.length;
            hash.update(chunk);
            yield chunk;
          }
        },
        createWriteStream(aside, { mode: 0o600 }),
      );
      const isText = bytes <= TEXT_BYTES_MAX && textIn(await readRange(aside, 0, bytes)) !== undefined;
      const path = join(folder, name);
      const about = { name, source, bytes, mime_type: mimeTypeOf(name), isText, isTainted };
      const file = { ...about, path, sha256: hash.digest('hex') };
      const same = files.get(name);
      if (same !== undefined) return sameFile(same, file);
      await rename(aside, path);
      files.set(name, file);
      onAdded(file);
      return file;
    } finally {
      await rm(aside, { force: true });
    }
  }

  return {
    list: () => [...files.values()],
    find: name => files.get(name),
    async put(name, content) {
      if (taken.has(name)) throw fileExists(name, 'is just being stored');
      const known = files.get(name);
      const share = begin(known === undefined);
      taken.add(name);
      try {
        const file = await store({ source: 'upload', name, isTainted: false }, share.bounded(content));
        if (file === known) share.giveBack();
        return file;
      } catch (error) {
        share.giveBack();
        throw error;
      } finally {
        taken.delete(name);
      }
    },
    async keepDownload(suggestedName, path, { isTainted }) {
      const name = freeName(safeFileName(suggestedName), each => files.has(each) || taken.has(each));
      taken.add(name);
      try {
        return await store({ source: 'download', name, isTainted }, await concealedContent(path, conceal));
      } finally {
        taken.delete(name);
      }
    },
  };
}

/** The content of a short text without secrets; of anything else as it is. The folder is the browser's own. */
async function concealedContent(
  path: string,
  conceal: SessionFilesOptions['conceal'],
): Promise<AsyncIterable<Uint8Array>> {
  const opened = await openPlain(path);
  const { size } = await opened.stat();
  if (size <= TEXT_BYTES_MAX) {
    await opened.close();
    const bytes = await readRange(path, 0, size);
    const text = textIn(bytes);
    return chunksOf(text === undefined ? bytes : Buffer.from(await conceal(text)));
  }
  return opened.createReadStream();
}

async function* chunksOf(bytes: Buffer): AsyncIterable<Uint8Array> {
  yield bytes;
}

function sameFile(stored: KeptFile, { sha256, source }: KeptFile): KeptFile {
  if (stored.sha256 === sha256 && stored.source === source) return stored;
  throw fileExists(stored.name, 'has other content');
}

const fileExists = (name: string, why: string): OmicronError =>
  new OmicronError('file_exists', `The lease has a file of the name "${name}", which ${why}: choose another name.`);
