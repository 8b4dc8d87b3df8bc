import type { CDPSession, Page } from 'playwright-core';
import { within } from '../../time/within.ts';
import type { RunnerBrowser } from './browser.ts';
import type { Incidents } from './incidents.ts';

export interface TabEndingsOptions {
  /** A blank tab beyond the limit. */
  readonly newTab: () => Promise<Page>;
  readonly known: Incidents;
  readonly report: (what: string, page: Page) => void;
}

/** Time in which a page ends once it is asked to; afterwards it is left to the memory watch. */
const CRASH_MS = 3_000;
/** A tab that does not close in this time must not keep the others from being closed. */
const CLOSE_MS = 2_000;
const CRASHED = 'its process ended, most often for lack of memory';

/** Closes tabs that take too much, each with an incident; a blank tab replaces the last one, so that the lease lives on. */
export class TabEndings {
  readonly #browser: Pick<RunnerBrowser, 'context' | 'whyStopped'>;
  readonly #options: TabEndingsOptions;
  /** Attached in advance: a busy page takes no new session. */
  readonly #sessions = new WeakMap<Page, Promise<CDPSession | undefined>>();
  readonly #targets = new WeakMap<Page, Promise<string | undefined>>();
  readonly #reasons = new WeakMap<Page, string>();
  readonly #ended = new WeakMap<Page, Promise<void>>();
  readonly #closing = new Set<Promise<void>>();
  #keeping = Promise.resolve();

  constructor(browser: Pick<RunnerBrowser, 'context' | 'whyStopped'>, options: TabEndingsOptions) {
    this.#browser = browser;
    this.#options = options;
  }

  watch(page: Page): void {
    const session = this.#browser.context.newCDPSession(page).catch(() => undefined);
    this.#sessions.set(page, session);
    this.#targets.set(page, targetOf(session));
    page.on('crash', () => void this.#end(page));
  }

  /** `why`: where it is not known of the tab already. Never rejects. */
  close(page: Page, why?: string): Promise<void> {
    if (why !== undefined && !this.#ended.has(page)) this.#reasons.set(page, why);
    return this.#end(page);
  }

  /** Ends the process of a tab that floods this one. */
  stopFlood(targetId: string, why: string): void {
    void this.#follow(this.#crash(targetId, why));
  }

  /** Stops the script that runs there. */
  async stopScript(page: Page): Promise<void> {
    await (await this.#sessions.get(page))?.send('Runtime.terminateExecution');
  }

  /** Resolves when every tab that is being closed here is closed, or does not close. */
  async settled(): Promise<void> {
    await Promise.all(this.#closing);
  }

  /** The last tab must know that it is the last: so one looks after the other. */
  async #end(page: Page): Promise<void> {
    if (page.isClosed()) return;
    const end = this.#ended.get(page) ?? this.#follow(this.#begin(page));
    this.#ended.set(page, end);
    await end;
  }

  #begin(page: Page): Promise<void> {
    const { known, report } = this.#options;
    const stopped = this.#browser.whyStopped();
    const why = this.#reasons.get(page) ?? stopped?.why ?? CRASHED;
    known.add({ kind: 'page.closed', url: page.url(), why });
    report(`A tab was closed: ${why}`, page);
    this.#keeping = this.#keeping.then(() => this.#keepOne(page));
    return this.#keeping.then(() => this.#closeTab(page, stopped?.stored === true));
  }

  #follow(work: Promise<void>): Promise<void> {
    const followed = work.finally(() => this.#closing.delete(followed));
    this.#closing.add(followed);
    return followed;
  }

  /** The lease lives on: a blank tab takes the place of its last one. */
  async #keepOne(page: Page): Promise<void> {
    const isLast = this.#browser.context.pages().every(other => other === page || this.#ended.has(other));
    if (isLast) await inTime(this.#options.newTab());
  }

  async #closeTab(page: Page, clears: boolean): Promise<void> {
    const origins = new Set(page.frames().map(frame => URL.parse(frame.url())?.origin ?? 'null'));
    await inTime(page.close());
    const [rest] = this.#browser.context.pages().filter(other => !this.#ended.has(other));
    if (clears && rest !== undefined) await inTime(clearStored(this.#sessions.get(rest), [...origins]));
  }

  async #crash(targetId: string, why: string): Promise<void> {
    const idOf = async (page: Page) => ({ page, id: await inTime(this.#targets.get(page)) });
    const found = await Promise.all(this.#browser.context.pages().map(idOf));
    const page = found.find(({ id }) => id === targetId)?.page;
    if (page === undefined || this.#reasons.has(page)) return;
    this.#reasons.set(page, why);
    const session = await inTime(this.#sessions.get(page));
    const crashed = page.waitForEvent('crash', { timeout: CRASH_MS }).catch(() => undefined);
    // Never answered: the renderer ends on the thread that reads it, however busy its script is.
    void session?.send('Page.crash').catch(() => undefined);
    await crashed;
    await this.#end(page);
  }
}

const inTime = async <T>(work: Promise<T> | undefined): Promise<T | undefined> => work && within(work, CLOSE_MS);

const targetOf = async (session: Promise<CDPSession | undefined>): Promise<string | undefined> =>
  (await (await session)?.send('Target.getTargetInfo').catch(() => undefined))?.targetInfo.targetId;

/** A lease's browser keeps what pages store in its memory: databases, caches and files, except cookies. */
async function clearStored(session: Promise<CDPSession | undefined> | undefined, origins: readonly string[]) {
  const storageTypes = 'indexeddb,cache_storage,file_systems';
  for (const origin of origins.filter(each => each !== 'null'))
    await (await session)?.send('Storage.clearDataForOrigin', { origin, storageTypes }).catch(() => undefined);
}
