import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeptPage } from '../../contract/kept-pages.ts';
import { callPicture, LAST_PAGE, PAGE_FOLDER } from '../../contract/page-names.ts';
import { isWithheld, type Withheld } from '../secrecy/pictures.ts';
import type { PageContent } from './read-page.ts';

export interface PageFilesOptions {
  readonly outputDir: string;
  /** Runs before the first file is stored: what the uploader needs is on disk then. */
  readonly beforeFirst: () => Promise<void>;
}

/** Folder of a lease's kept pages until its uploader sends them. An uploader sees whole files only. */
export function pageFiles({ outputDir, beforeFirst }: PageFilesOptions) {
  const prepare = async () => {
    await beforeFirst();
    await mkdir(join(outputDir, PAGE_FOLDER), { recursive: true });
  };
  let prepared: Promise<void> | undefined;
  const folder = (): Promise<void> => {
    prepared ??= prepare();
    return prepared;
  };

  /** Withheld: the one before goes too, since it is of another page. */
  async function write(name: string, content: string | Buffer | Withheld): Promise<void> {
    const path = join(outputDir, name);
    if (isWithheld(content)) return rm(path, { force: true });
    const aside = join(outputDir, PAGE_FOLDER, `.${randomUUID()}`);
    await writeFile(aside, content, { mode: 0o600 });
    await rename(aside, path);
  }

  return {
    /** Replaces the page before. */
    async keepLast({ url, title, html, picture }: PageContent): Promise<void> {
      await folder();
      const about: KeptPage = {
        url,
        title,
        at: new Date().toISOString(),
        ...(isWithheld(html) && { html_withheld: html.withheld }),
        ...(isWithheld(picture) && { picture_withheld: picture.withheld }),
      };
      await write(LAST_PAGE.picture, picture);
      await write(LAST_PAGE.html, html);
      await write(LAST_PAGE.about, JSON.stringify(about));
    },
    /** Resolves with the name of its artifact. */
    async keepPicture(number: number, picture: Buffer): Promise<string> {
      await folder();
      const name = callPicture(number);
      await write(name, picture);
      return name;
    },
  };
}
