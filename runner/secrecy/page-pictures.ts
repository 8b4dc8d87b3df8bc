import type { BrowserContext, CDPSession, Page } from 'playwright-core';
import { type Drawn, type DrawnText, type Hiding, isMoving, readDrawn } from './drawn.ts';
import { type DrawnForm, findHeldTexts, fold } from './held.ts';
import { readHiddenRoots } from './shadow-roots.ts';
import { documentKey, siteOfFrame, type TabFrames, type TreeFrame, tabFrames } from './tab-frames.ts';
import { type WatchedDocument, watchDocument } from './watched-document.ts';

/** Findings of one look at a tab. */
export interface PictureCheck {
  /** Undefined: at that moment, and since the look before, nothing showed a value. Else why a picture might. */
  readonly shown: string | undefined;
  /** Documents, fields and shadow roots were already watched when the look began, and nothing escaped the watch. */
  readonly settled: boolean;
  /** Rises with each change that no observer can judge before it is painted. */
  readonly unseen: number;
  /** Which documents the tab has. Between two looks that differ in it, others may have come and gone. */
  readonly documents: string;
}

/** Values for which the pictures of a lease are searched. */
export interface Searched {
  readonly forms: readonly DrawnForm[];
  /** Those of them that documents of a site may be given: of what was filled in there. */
  readonly bySite: ReadonlyMap<string, readonly DrawnForm[]>;
  /** Sites of which a document is there, in any tab, into which one was filled. */
  readonly heldSites: ReadonlySet<string>;
}

interface Shown {
  readonly session: CDPSession;
  readonly drawn: Drawn;
}

/** Boxes without text that may appear after a fill: more could be the dots of a picture. */
const NEW_BOXES_MAX = 150;

/** Watches the pictures of one tab. `searched` is asked at each look. */
export class PagePictures {
  readonly #searched: () => Searched;
  readonly #frames: TabFrames;
  readonly #watched = new Map<string, WatchedDocument>();
  readonly #tried = new Map<number, Hiding>();
  #known: ReadonlySet<string> | undefined;
  #boxes = 0;
  #unseen = 0;
  /**
   * Documents that may hold a value, each with its site: one was filled into them, or into another of their site while
   * they were there. Pictures stay strict until all of them are gone.
   */
  readonly #holders = new Map<string, string>();

  constructor(context: BrowserContext, page: Page, searched: () => Searched) {
    this.#searched = searched;
    this.#frames = tabFrames(context, page);
  }

  isStrict(): boolean {
    return this.#holders.size > 0;
  }

  /** Sites of its documents that may hold a value. */
  heldSites(): Set<string> {
    return new Set(this.#holders.values());
  }

  /** Forgets documents that are gone. */
  async forgetGone(): Promise<void> {
    await this.#liveFrames(await this.#frames.sessions());
  }

  /** Call it before the value goes into a document of the site: what is drawn now cannot show it. */
  async aboutToFill(site: string): Promise<void> {
    const all = await this.#frames.sessions();
    const frames = await this.#liveFrames(all);
    const isFirst = !this.isStrict();
    for (const session of all) {
      await this.#watchAll(session, true, isFirst);
      const drawn = await readDrawn(session);
      await this.#adoptAll(session);
      if (!isFirst) continue;
      this.#known = new Set([...(this.#known ?? []), ...drawn.things.map(({ key }) => key)]);
      this.#boxes += drawn.emptyBoxes;
    }
    for (const frame of frames) if (siteOfFrame(frame) === site) this.#holders.set(documentKey(frame), site);
  }

  /** Looks at what is drawn, and hides what shows a value. Rejects when the tab does not answer. */
  async look(): Promise<PictureCheck> {
    const all = await this.#frames.sessions();
    const frames = await this.#liveFrames(all);
    const { heldSites } = this.#searched();
    for (const frame of frames)
      if (heldSites.has(siteOfFrame(frame))) this.#holders.set(documentKey(frame), siteOfFrame(frame));
    const strict = this.isStrict();
    if (!strict) this.#boxes = 0;
    let isNew = false;
    const found: Shown[] = [];
    for (const session of all) {
      isNew = (await this.#watchAll(session, strict, false)) || isNew;
      const drawn = await readDrawn(session);
      isNew = (await this.#adoptAll(session)) || isNew;
      found.push({ session, drawn });
    }
    let shown = (await this.#hideTexts(found)) ? 'the page shows a value that was filled in' : undefined;
    if (strict && (await this.#hideUnknown(found))) shown = 'the page draws what cannot be searched for a value';
    shown = (await this.#escaped()) ?? shown;
    const documents = frames.map(documentKey).join();
    return { shown, settled: !isNew && !strict, unseen: this.#unseen, documents };
  }

  /** Watches every document that may hold a value; resolves with whether one was new, or too much to be watched. */
  async #watchAll(session: CDPSession, strict: boolean, asIs: boolean): Promise<boolean> {
    const { bySite } = this.#searched();
    let isNew = false;
    for (const frame of await this.#frames.of(session)) {
      if (!strict && !bySite.has(siteOfFrame(frame))) continue;
      let document = this.#watched.get(documentKey(frame));
      if (document === undefined || document.session !== session) {
        document = await this.#watch(session, frame);
        isNew = true;
      }
      if (await document.learn(bySite.get(siteOfFrame(frame)) ?? [])) isNew = true;
      if (strict && !document.isStrict()) {
        if (asIs) await this.#adoptAll(session);
        await document.beStrict(asIs);
        isNew = true;
      }
    }
    return isNew;
  }

  async #watch(session: CDPSession, frame: TreeFrame): Promise<WatchedDocument> {
    const document = await watchDocument(session, frame);
    this.#watched.set(documentKey(frame), document);
    return document;
  }

  /** Lets the observers into what no script can reach; resolves with whether one was new. */
  async #adoptAll(session: CDPSession): Promise<boolean> {
    const isWatched = [...this.#watched.values()].some(document => document.session === session);
    const top = this.#frames.topOf(session);
    if (!isWatched || top === undefined) return false;
    let isNew = false;
    for (const { frameId, backendNodeId, isBrowsers } of await readHiddenRoots(session, top)) {
      const document = this.#documentOf(frameId, session);
      if (document === undefined || document.hasAdopted(backendNodeId)) continue;
      isNew = true;
      // The earlier contents of such a root were not checked.
      if (!isBrowsers) this.#unseen += 1;
      await document.adopt(backendNodeId, isBrowsers);
    }
    return isNew;
  }

  #documentOf(frameId: string, session: CDPSession): WatchedDocument | undefined {
    return [...this.#watched.values()].findLast(
      document => document.frameId === frameId && document.session === session,
    );
  }

  async #hide(session: CDPSession, frameId: string, backendNodeId: number, how: Hiding): Promise<void> {
    // A step that did not help is repeated more thoroughly.
    const hiding = this.#tried.has(backendNodeId) ? 'opaque' : how;
    this.#tried.set(backendNodeId, hiding);
    let document = this.#documentOf(frameId, session);
    if (document === undefined) {
      const frame = (await this.#frames.of(session)).find(({ id }) => id === frameId);
      if (frame === undefined) return;
      document = await this.#watch(session, frame);
    }
    await document.hide(backendNodeId, hiding);
  }

  /** A value may be spread over frames. */
  async #hideTexts(shown: readonly Shown[]): Promise<boolean> {
    const { forms } = this.#searched();
    const held = new Map<DrawnText, CDPSession>();
    for (const kind of ['texts', 'lines', 'strokes'] as const) {
      const list = shown.flatMap(({ session, drawn }) => drawn[kind].flat().map(text => ({ session, text })));
      const texts = list.map(({ text }) => text.text);
      for (const index of findHeldTexts(texts, forms, fold)) {
        const found = list[index];
        if (found !== undefined) held.set(found.text, found.session);
      }
    }
    for (const [{ frameId, backendNodeId, hiding }, session] of held)
      await this.#hide(session, frameId, backendNodeId, hiding);
    return held.size > 0;
  }

  /** Hides what came after the first fill and has no text; resolves with whether there was any. */
  async #hideUnknown(shown: readonly Shown[]): Promise<boolean> {
    const empty = shown.reduce((sum, { drawn }) => sum + drawn.emptyBoxes, 0);
    const hidden = await Promise.all(shown.map(each => this.#hideThings(each)));
    return hidden.includes(true) || empty > this.#boxes + NEW_BOXES_MAX;
  }

  async #hideThings({ session, drawn }: Shown): Promise<boolean> {
    const unknown = drawn.things.filter(thing => isMoving(thing) || this.#known?.has(thing.key) !== true);
    for (const { frameId, backendNodeId, hiding } of unknown) await this.#hide(session, frameId, backendNodeId, hiding);
    return unknown.length > 0;
  }

  /** Forgets what is gone; resolves with what is there. */
  async #liveFrames(all: readonly CDPSession[]): Promise<TreeFrame[]> {
    const frames = (await Promise.all(all.map(session => this.#frames.of(session)))).flat();
    const live = new Set(frames.map(documentKey));
    for (const key of this.#watched.keys()) if (!live.has(key)) this.#watched.delete(key);
    for (const key of this.#holders.keys()) if (!live.has(key)) this.#holders.delete(key);
    if (!this.isStrict()) this.#known = undefined;
    return frames;
  }

  /** Asks the documents' own watch what may have been painted before it was seen; resolves with why a picture may show it. */
  async #escaped(): Promise<string | undefined> {
    let shown: string | undefined;
    for (const document of this.#watched.values()) {
      const report = await document.report();
      shown = report.shown ?? shown;
      if (report.hasUnseen) this.#unseen += 1;
    }
    return shown;
  }
}
