import type { BrowserContext, Frame, Page } from 'playwright-core';

/** Sites that an answer may name. */
export interface OwnSites {
  /** Names of the credentials that may be filled on every site that is shown in any tab, or was since the last answer. */
  names(): string[];
  /** As `names`; what was shown before may be named now. */
  answered(): string[];
}

export interface OwnSitesOptions<Site> {
  readonly context: BrowserContext;
  readonly sites: readonly Site[];
  /** Whether the credential of the site may be filled on this origin. */
  readonly isAllowed: (site: Site, origin: string) => boolean;
  readonly namesOf: (site: Site) => readonly string[];
}

/** Stands for a document of which it is not known who wrote it: no credential is filled there. */
const UNKNOWN = 'null';

/** Follows the documents of every tab. One that borrows its origin is of the page around it, unless its frame has shown another. */
export function ownSites<Site>({ context, sites, isAllowed, namesOf }: OwnSitesOptions<Site>): OwnSites {
  const shown = new Set<string>();
  const untouched = new WeakSet<Page | Frame>();

  /** Undefined: the document is empty, or written by the page around it. */
  function originOf(frame: Frame): string | undefined {
    const url = frame.url();
    if (/^https?:/i.test(url)) return URL.parse(url)?.origin ?? UNKNOWN;
    return untouched.has(frame.parentFrame() === null ? frame.page() : frame) ? undefined : UNKNOWN;
  }

  function see(frame: Frame): void {
    const origin = originOf(frame);
    if (origin !== undefined) shown.add(origin);
  }

  function onNavigated(frame: Frame): void {
    if (frame.parentFrame() === null) untouched.delete(frame.page());
    else if (!/^about:/.test(frame.url())) untouched.delete(frame);
    see(frame);
  }

  function watch(page: Page): void {
    page.on('frameattached', frame => {
      untouched.add(frame);
      see(frame);
    });
    page.on('framenavigated', onNavigated);
  }

  for (const page of context.pages()) {
    if (page.url() === 'about:blank') untouched.add(page);
    watch(page);
    page.frames().forEach(see);
  }
  context.on('page', page => {
    watch(page);
    page.frames().forEach(see);
  });

  function names(): string[] {
    for (const page of context.pages()) page.frames().forEach(see);
    if (shown.size === 0) return [];
    return sites.filter(site => [...shown].every(origin => isAllowed(site, origin))).flatMap(namesOf);
  }

  return {
    names,
    answered() {
      const own = names();
      shown.clear();
      return own;
    },
  };
}
