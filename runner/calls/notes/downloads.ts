import type { ResourceLink } from '@modelcontextprotocol/server';
import type { BrowserContext, Download, Page } from 'playwright-core';
import { oneLine } from '../../browser/page-text.ts';
import { safeFileName } from '../../files/names.ts';
import type { KeptFile, SessionFiles } from '../../files/session-files.ts';
import type { Documents } from '../../secrecy/documents.ts';

/** Downloads by the pages of a lease, for the results of calls. */
export interface Downloads {
  /** Returns the downloads since the last call: at most a few lines, and links to files that may be read. Names are without secrets. */
  take(): { readonly notes: string[]; readonly links: ResourceLink[] };
}

export interface DownloadsOptions {
  readonly context: BrowserContext;
  readonly documents: Pick<Documents, 'isTainted' | 'sendsTainted'>;
  readonly files: SessionFiles;
  /** A link for a result; undefined: the file may not be read. */
  readonly linkTo: (file: KeptFile) => ResourceLink | undefined;
  /** Takes secrets out of a text. */
  readonly conceal: (text: string) => Promise<string>;
  readonly onFailed: (error: unknown) => void;
}

const NOTES_MAX = 5;

/**
 * A tab that opened for a download alone has not even an address, and would take the place of another until the agent closed it. Browsers
 * with a window close it too.
 */
function closeIfEmpty(page: Page): void {
  if (page.url() === '') void page.close().catch(() => undefined); // it is gone
}

/** A name that answers give as it is, without marks: tools find a file by the name that they gave. */
const plainName = (suggested: string): string => safeFileName(oneLine(suggested.replaceAll(/[<>]/g, '_')));

/** Keeps every download of the context among the files of the lease, and reports it. */
export function downloads(options: DownloadsOptions): Downloads {
  const { context, documents, files, linkTo, conceal, onFailed } = options;
  let notes: string[] = [];
  let arrived: KeptFile[] = [];
  let count = 0;
  const add = (note: string) => {
    count += 1;
    if (notes.length < NOTES_MAX) notes.push(note);
  };
  async function follow(download: Download): Promise<void> {
    const page = download.page();
    const isTainted = documents.sendsTainted(page) || (await documents.isTainted(page));
    const suggested = plainName(await conceal(download.suggestedFilename()));
    add(`Downloading file ${suggested}`);
    // Why one was cancelled is an incident of its own.
    if ((await download.failure().catch(() => 'its tab is gone')) !== null) return;
    const file = await files.keepDownload(suggested, await download.path(), { isTainted });
    add(`Downloaded file ${suggested}${file.name === suggested ? '' : ` as ${file.name}`}`);
    arrived.push(file);
  }
  context.on('download', download => void follow(download).catch(onFailed));
  context.on('page', closeIfEmpty);

  return {
    take() {
      const more = count - notes.length;
      const taken = [...notes, ...(more > 0 ? [`and ${more} more downloads`] : [])];
      const links = arrived.flatMap(file => linkTo(file) ?? []).slice(0, NOTES_MAX);
      notes = [];
      arrived = [];
      count = 0;
      return { notes: taken, links };
    },
  };
}
