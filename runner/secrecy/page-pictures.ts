import type { BrowserContext, CDPSession, Frame, Page } from 'playwright-core';
import { pageScript } from '../browser/page-script.ts';
import { type Drawn, type DrawnText, type Hiding, isMoving, readDrawn } from './drawn.ts';
import { type DrawnForm, findHeldTexts, fold } from './held.ts';
import { readHiddenRoots } from './shadow-roots.ts';
import { siteOf } from './site.ts';

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

/** One document, in a world of its own beside the page's. */
interface Watched {
  readonly session: CDPSession;
  readonly contextId: number;
  readonly api: string;
  readonly frameId: string;
  readonly adopted: Set<number>;
  learnt: number;
  strict: boolean;
  late: number;
  changes: number;
}

interface Shown {
  readonly session: CDPSession;
  readonly drawn: Drawn;
}

const MASK = pageScript(new URL('./mask.page.js', import.meta.url));
const WORLD = 'omicron-pictures';
/** More shadow roots and fields than this are not watched one by one: the page is too big to be known. */
const ADOPTED_MAX = 1_000;
/** Boxes without text that may appear after a fill: more could be the dots of a picture. */
const NEW_BOXES_MAX = 150;

const keyOf = ({ id, loaderId }: TreeFrame): string => `${id} ${loaderId}`;

interface TreeFrame {
  readonly id: string;
  readonly loaderId: string;
  readonly url: string;
  readonly parentSite: string | undefined;
}

/** Watches the pictures of one tab. `searched` is asked at each look. */
export function pagePictures(context: BrowserContext, page: Page, searched: () => Searched) {
  const sessions = new Map<Frame, { readonly from: string; readonly session: CDPSession | undefined }>();
  const watched = new Map<string, Watched>();
  const tried = new Map<number, Hiding>();
  /** The frame at the top of each process. */
  const tops = new WeakMap<CDPSession, string>();
  let known: ReadonlySet<string> | undefined;
  let boxes = 0;
  let unseen = 0;
  /**
   * Documents that may hold a value, each with its site: one was filled into them, or into another of their site while
   * they were there. Pictures stay strict until all of them are gone.
   */
  const holders = new Map<string, string>();

  /** One session a process: the tab's own, and one for each frame that has a process of its own. */
  async function sessionsNow(): Promise<CDPSession[]> {
    const frames = page.frames();
    for (const frame of sessions.keys()) if (!frames.includes(frame)) sessions.delete(frame);
    const found = await Promise.all(
      frames.map(async frame => {
        const from = siteOf(frame.url()) ?? '';
        const before = sessions.get(frame);
        if (before?.from === from) return before.session;
        const isMain = frame === page.mainFrame();
        if (before !== undefined && isMain) return before.session;
        const session = await context.newCDPSession(isMain ? page : frame).catch(() => undefined);
        session?.once('close', () => sessions.delete(frame));
        sessions.set(frame, { from, session });
        return session;
      }),
    );
    return found.filter(session => session !== undefined);
  }

  async function framesOf(session: CDPSession): Promise<TreeFrame[]> {
    const { frameTree } = await session.send('Page.getFrameTree');
    const found: TreeFrame[] = [];
    const walk = (tree: typeof frameTree, parentSite: string | undefined): void => {
      const { id, loaderId, url } = tree.frame;
      found.push({ id, loaderId, url, parentSite });
      for (const child of tree.childFrames ?? []) walk(child, siteOf(url) ?? parentSite);
    };
    tops.set(session, frameTree.frame.id);
    walk(frameTree, siteOf((await page.opener())?.url() ?? ''));
    return found;
  }

  async function watch(session: CDPSession, { id: frameId }: TreeFrame): Promise<Watched> {
    const { executionContextId: contextId } = await session.send('Page.createIsolatedWorld', {
      frameId,
      worldName: WORLD,
    });
    const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
      contextId,
      expression: `(${MASK})(${fold}, ${findHeldTexts})`,
    });
    if (exceptionDetails !== undefined || result.objectId === undefined)
      throw new Error('a document cannot be watched');
    const fresh = { learnt: 0, strict: false, late: 0, changes: 0 };
    return { session, contextId, api: result.objectId, frameId, adopted: new Set(), ...fresh };
  }

  async function ask({ session, api }: Watched, method: string, ...args: unknown[]): Promise<unknown> {
    const { result, exceptionDetails } = await session.send('Runtime.callFunctionOn', {
      objectId: api,
      functionDeclaration: `function (...args) { return this.${method}(...args); }`,
      arguments: args.map(value => ({ value })),
      returnByValue: true,
    });
    if (exceptionDetails !== undefined) throw new Error('a document cannot be watched');
    return result.value;
  }

  const onNode = async (
    { session, contextId, api }: Watched,
    backendNodeId: number,
    body: string,
    value: unknown,
  ): Promise<void> => {
    const { object } = await session.send('DOM.resolveNode', { backendNodeId, executionContextId: contextId });
    await session.send('Runtime.callFunctionOn', {
      objectId: api,
      functionDeclaration: `function (node, value) { ${body} }`,
      arguments: [{ objectId: object.objectId ?? '' }, { value }],
    });
  };

  const siteOfFrame = ({ url, parentSite }: TreeFrame): string => siteOf(url) ?? parentSite ?? '';
  const isFilled = (frame: TreeFrame): boolean => searched().bySite.has(siteOfFrame(frame));

  /** Watches every document that may hold a value; resolves with whether one was new, or too much to be watched. */
  async function watchAll(session: CDPSession, strict: boolean, asIs: boolean): Promise<boolean> {
    let isNew = false;
    for (const frame of await framesOf(session)) {
      if (!strict && !isFilled(frame)) continue;
      const key = keyOf(frame);
      let document = watched.get(key);
      if (document === undefined || document.session !== session) {
        document = await watch(session, frame);
        watched.set(key, document);
        isNew = true;
      }
      const forms = searched().bySite.get(siteOfFrame(frame)) ?? [];
      if (document.learnt !== forms.length) {
        await ask(document, 'learn', forms);
        document.learnt = forms.length;
        isNew = true;
      }
      if (strict && !document.strict) {
        if (asIs) await adoptAll(session);
        await ask(document, 'strict', asIs);
        document.strict = true;
        isNew = true;
      }
    }
    return isNew;
  }

  /** Lets the observers into what no script can reach; resolves with whether one was new. */
  async function adoptAll(session: CDPSession): Promise<boolean> {
    const isWatched = [...watched.values()].some(document => document.session === session);
    const top = tops.get(session);
    if (!isWatched || top === undefined) return false;
    let isNew = false;
    for (const { frameId, backendNodeId, isBrowsers } of await readHiddenRoots(session, top)) {
      const document = documentOf(frameId, session);
      if (document === undefined || document.adopted.has(backendNodeId)) continue;
      if (document.adopted.size >= ADOPTED_MAX) throw new Error('the page has too many fields and shadow roots');
      document.adopted.add(backendNodeId);
      isNew = true;
      // The earlier contents of such a root were not checked.
      if (!isBrowsers) unseen += 1;
      await onNode(document, backendNodeId, 'this.adopt(node, value)', isBrowsers);
    }
    return isNew;
  }

  const documentOf = (frameId: string, session: CDPSession): Watched | undefined =>
    [...watched.values()].findLast(document => document.frameId === frameId && document.session === session);

  async function hide(session: CDPSession, frameId: string, backendNodeId: number, how: Hiding): Promise<void> {
    // A step that did not help is repeated more thoroughly.
    const hiding = tried.has(backendNodeId) ? 'opaque' : how;
    tried.set(backendNodeId, hiding);
    let document = documentOf(frameId, session);
    if (document === undefined) {
      const frame = (await framesOf(session)).find(({ id }) => id === frameId);
      if (frame === undefined) return;
      document = await watch(session, frame);
      watched.set(keyOf(frame), document);
    }
    await onNode(document, backendNodeId, 'this.hide(node, value)', hiding);
  }

  /** A value may be spread over frames. */
  async function hideTexts(shown: readonly Shown[]): Promise<boolean> {
    const { forms } = searched();
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
      await hide(session, frameId, backendNodeId, hiding);
    return held.size > 0;
  }

  async function hideThings({ session, drawn }: Shown): Promise<boolean> {
    const unknown = drawn.things.filter(thing => isMoving(thing) || known?.has(thing.key) !== true);
    for (const { frameId, backendNodeId, hiding } of unknown) await hide(session, frameId, backendNodeId, hiding);
    return unknown.length > 0;
  }

  /** Forgets what is gone; resolves with what is there. */
  async function liveFrames(all: readonly CDPSession[]): Promise<TreeFrame[]> {
    const frames = (await Promise.all(all.map(framesOf))).flat();
    const live = new Set(frames.map(keyOf));
    for (const key of watched.keys()) if (!live.has(key)) watched.delete(key);
    for (const key of holders.keys()) if (!live.has(key)) holders.delete(key);
    if (holders.size === 0) known = undefined;
    return frames;
  }

  /** Whether something was found by the documents' own watch, after it may have been painted. */
  async function escaped(): Promise<string | undefined> {
    let shown: string | undefined;
    for (const document of watched.values()) {
      // The report of mask.page.js
      const report = (await ask(document, 'report')) as {
        late: number;
        changes: number;
        tooBig: boolean;
        styled: boolean;
        newFonts: boolean;
      };
      if (report.late !== document.late) shown = 'the page showed a value for a moment';
      if (report.tooBig) shown = 'the page is too big to be searched';
      if (report.styled) shown = 'a style of the page holds a value';
      if (report.newFonts) shown = 'the page loaded a font after a value was filled in';
      if (report.changes !== document.changes) unseen += 1;
      document.late = report.late;
      document.changes = report.changes;
    }
    return shown;
  }

  return {
    isStrict: () => holders.size > 0,
    /** Sites of its documents that may hold a value. */
    heldSites: () => new Set(holders.values()),
    /** Forgets documents that are gone. */
    forgetGone: async () => void (await liveFrames(await sessionsNow())),

    /** Call it before the value goes into a document of the site: what is drawn now cannot show it. */
    async aboutToFill(site: string): Promise<void> {
      const all = await sessionsNow();
      const frames = await liveFrames(all);
      const first = holders.size === 0;
      for (const session of all) {
        await watchAll(session, true, first);
        const drawn = await readDrawn(session);
        await adoptAll(session);
        if (!first) continue;
        known = new Set([...(known ?? []), ...drawn.things.map(({ key }) => key)]);
        boxes += drawn.emptyBoxes;
      }
      for (const frame of frames) if (siteOfFrame(frame) === site) holders.set(keyOf(frame), site);
    },

    /** Looks at what is drawn, and hides what shows a value. Rejects when the tab does not answer. */
    async look(): Promise<PictureCheck> {
      const all = await sessionsNow();
      const frames = await liveFrames(all);
      const { heldSites } = searched();
      for (const frame of frames) if (heldSites.has(siteOfFrame(frame))) holders.set(keyOf(frame), siteOfFrame(frame));
      const strict = holders.size > 0;
      if (!strict) boxes = 0;
      let isNew = false;
      let shown: string | undefined;
      const found: Shown[] = [];
      for (const session of all) {
        isNew = (await watchAll(session, strict, false)) || isNew;
        const drawn = await readDrawn(session);
        isNew = (await adoptAll(session)) || isNew;
        found.push({ session, drawn });
      }
      if (await hideTexts(found)) shown = 'the page shows a value that was filled in';
      if (strict) {
        const empty = found.reduce((sum, { drawn }) => sum + drawn.emptyBoxes, 0);
        const hidden = await Promise.all(found.map(hideThings));
        if (hidden.includes(true) || empty > boxes + NEW_BOXES_MAX)
          shown = 'the page draws what cannot be searched for a value';
      }
      shown = (await escaped()) ?? shown;
      return { shown, settled: !isNew && !strict, unseen, documents: frames.map(keyOf).join() };
    },
  };
}

export type PagePictures = ReturnType<typeof pagePictures>;
