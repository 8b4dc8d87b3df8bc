import { constants, type FileHandle, open } from 'node:fs/promises';
import { type Resource, type ResourceLink, ResourceNotFoundError } from '@modelcontextprotocol/server';
import type { BrowserContext, Download } from 'playwright-core';
import type { Documents } from '../secrecy/documents.ts';
import { type Conceal, cut } from '../tools/cut.ts';

/** What the pages of a lease downloaded: notes for the results of calls, and files that an agent reads as resources of MCP. */
export interface Downloads {
  /** What happened since it was last asked: at most a few lines, and links to files that may be read. Names are the pages' own: secrets have to be taken out. */
  take(): { readonly notes: string[]; readonly links: ResourceLink[] };
  /** The files that may be read now. */
  list(): Resource[];
  /** Text without secrets, or bytes. Throws a `ResourceNotFoundError` for what may not be read. */
  read(
    uri: string,
  ): Promise<{ readonly uri: string; readonly mimeType: string } & ({ text: string } | { blob: string })>;
}

export interface DownloadsOptions {
  readonly context: BrowserContext;
  /** Takes secrets out of a text. */
  readonly conceal: Conceal;
  /** Once a credential was filled in, bytes could hold one in a form that is not known; and so could any file of a page that does. */
  readonly documents: Pick<Documents, 'isGuarding' | 'isTainted'>;
}

interface Arrived {
  readonly uri: string;
  readonly name: string;
  readonly path: string;
  readonly size: number;
  readonly mimeType: string;
  /** Of a page that may have held a secret. */
  readonly isTainted: boolean;
}

const NOTES_MAX = 5;
const NAME_CHARACTERS_MAX = 200;
/** Of a file that is read. */
const BYTES_MAX = 1024 * 1024;
const TEXT = 'text/plain';

export function downloads({ context, conceal, documents }: DownloadsOptions): Downloads {
  const files = new Map<string, Arrived>();
  let notes: string[] = [];
  let arrived: Arrived[] = [];
  let count = 0;
  const add = (note: string) => {
    count += 1;
    if (notes.length < NOTES_MAX) notes.push(note);
  };
  async function follow(download: Download): Promise<void> {
    const isTainted = await documents.isTainted(download.page());
    const given = download.suggestedFilename().replaceAll(/\s+/g, ' ');
    const name = (await cut(given, NAME_CHARACTERS_MAX, conceal)).content;
    add(`Downloading file ${name}`);
    // Why one was cancelled is an incident of its own.
    if ((await download.failure().catch(() => 'its tab is gone')) !== null) return;
    const path = await download.path();
    const bytes = await bytesOf(path).catch(() => undefined);
    add(`Downloaded file ${name}`);
    if (bytes === undefined) return;
    const mimeType = textIn(bytes) === undefined ? 'application/octet-stream' : TEXT;
    const file = { uri: `download:/${files.size + 1}`, name, path, size: bytes.length, mimeType, isTainted };
    files.set(file.uri, file);
    arrived.push(file);
  }
  context.on('download', download => void follow(download).catch(() => undefined));
  const isOpen = ({ mimeType, isTainted }: Arrived): boolean =>
    !isTainted && (mimeType === TEXT || !documents.isGuarding());

  return {
    take() {
      const more = count - notes.length;
      const taken = [...notes, ...(more > 0 ? [`and ${more} more downloads`] : [])];
      const links = arrived.filter(isOpen).slice(0, NOTES_MAX).map(linkTo);
      notes = [];
      arrived = [];
      count = 0;
      return { notes: taken, links };
    },
    list: () => [...files.values()].filter(isOpen).map(told),
    async read(uri) {
      const file = files.get(uri);
      if (file === undefined || !isOpen(file))
        throw new ResourceNotFoundError(uri, `${uri} is not a file to be read here.`);
      const bytes = await bytesOf(file.path).catch(() => undefined);
      if (bytes === undefined) throw new ResourceNotFoundError(uri, `${uri} is gone.`);
      const { mimeType } = file;
      const text = textIn(bytes);
      if (text !== undefined) return { uri, mimeType, text: await conceal(text) };
      if (documents.isGuarding()) throw new ResourceNotFoundError(uri, `${uri} is not a file to be read here.`);
      return { uri, mimeType, blob: bytes.toString('base64') };
    },
  };
}

const told = ({ path, isTainted, ...file }: Arrived): Resource => file;

const linkTo = (file: Arrived): ResourceLink => ({ type: 'resource_link', ...told(file) });

/** The file whole; undefined: it is too long. The folder is the browser's own: only a plain file is read there, not what a link leads to. */
async function bytesOf(path: string): Promise<Buffer | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = await file.stat();
    if (!stat.isFile() || stat.size > BYTES_MAX) return undefined;
    const { buffer, bytesRead } = await file.read(Buffer.alloc(stat.size), 0, stat.size, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file?.close();
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Undefined: the bytes are not text. */
function textIn(bytes: Buffer): string | undefined {
  try {
    const text = UTF8.decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
