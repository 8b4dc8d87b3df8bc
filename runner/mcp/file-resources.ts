import { type Resource, type ResourceLink, ResourceNotFoundError } from '@modelcontextprotocol/server';
import type { Conceal } from '../budget/cut.ts';
import { readRange } from '../files/plain-file.ts';
import { type KeptFile, type LeaseFiles, TEXT_BYTES_MAX } from '../files/session-files.ts';

/** The files of a lease as resources of MCP. */
export interface FileResources {
  /** The files that may be read now. */
  list(): Resource[];
  /** Undefined: it may not be read. */
  linkTo(file: KeptFile): ResourceLink | undefined;
  /** Text without secrets, or bytes. Throws a `ResourceNotFoundError` for what may not be read. */
  read(
    uri: string,
  ): Promise<{ readonly uri: string; readonly mimeType: string } & ({ text: string } | { blob: string })>;
}

export interface FileResourcesOptions {
  readonly files: LeaseFiles;
  /** Takes secrets out of a text. */
  readonly conceal: Conceal;
}

export function fileResources({ files, conceal }: FileResourcesOptions): FileResources {
  const uriOf = ({ name, source }: KeptFile): string =>
    `${source}:/${files.list().findIndex(each => each.name === name) + 1}`;
  const isOpen = (file: KeptFile): boolean =>
    file.bytes <= TEXT_BYTES_MAX && ((file.isText && !file.isTainted) || files.mayReadBytes(file));
  const resourceOf = (file: KeptFile): Resource => ({
    uri: uriOf(file),
    name: file.name,
    size: file.bytes,
    mimeType: file.mime_type,
  });

  return {
    list: () => files.list().filter(isOpen).map(resourceOf),
    linkTo: file => (isOpen(file) ? { type: 'resource_link', ...resourceOf(file) } : undefined),
    async read(uri) {
      const file = files.list().find(each => uriOf(each) === uri);
      if (file === undefined || !isOpen(file)) throw notReadable(uri);
      const bytes = await readRange(file.path, 0, file.bytes).catch(() => undefined);
      if (bytes === undefined) throw new ResourceNotFoundError(uri, `${uri} is gone.`);
      const mimeType = file.mime_type;
      return file.isText
        ? { uri, mimeType, text: await conceal(bytes.toString('utf8')) }
        : { uri, mimeType, blob: bytes.toString('base64') };
    },
  };
}

const notReadable = (uri: string): ResourceNotFoundError =>
  new ResourceNotFoundError(uri, `${uri} is not a file to be read here.`);
