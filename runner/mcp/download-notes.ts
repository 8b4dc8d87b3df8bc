import type { BrowserContext, Download } from 'playwright-core';

/** What the pages of a lease began to download, and what arrived, for the results of calls. */
export interface DownloadNotes {
  /** What happened since they were last taken, at most a few lines. Names are the pages' own: secrets have to be taken out. */
  take(): string[];
}

const NOTES_MAX = 5;
const NAME_CHARACTERS_MAX = 200;

export function downloadNotes(context: BrowserContext): DownloadNotes {
  let notes: string[] = [];
  let count = 0;
  const add = (note: string) => {
    count += 1;
    if (notes.length < NOTES_MAX) notes.push(note);
  };
  async function follow(download: Download): Promise<void> {
    const name = download.suggestedFilename().replaceAll(/\s+/g, ' ').slice(0, NAME_CHARACTERS_MAX);
    add(`Downloading file ${name}`);
    // Why one was cancelled is an incident of its own.
    if ((await download.failure().catch(() => 'its tab is gone')) === null) add(`Downloaded file ${name}`);
  }
  context.on('download', download => void follow(download));
  return {
    take() {
      const more = count - notes.length;
      const taken = [...notes, ...(more > 0 ? [`and ${more} more downloads`] : [])];
      notes = [];
      count = 0;
      return taken;
    },
  };
}
