import type { CDPSession } from 'playwright-core';
import { pageScript } from '../browser/page-script.ts';
import type { Hiding } from './drawn.ts';
import { type DrawnForm, findHeldTexts, fold } from './held.ts';
import type { TreeFrame } from './tab-frames.ts';

/** Findings of the document's own watch since the call before. */
export interface WatchReport {
  /** Why a picture may have shown a value; undefined: it can't have. */
  readonly shown: string | undefined;
  /** Something changed that no observer can judge before it is painted. */
  readonly hasUnseen: boolean;
}

/** One document, watched from a world of its own beside the page's. */
export interface WatchedDocument {
  readonly session: CDPSession;
  readonly frameId: string;
  /** Resolves with whether one of these forms is new to the document. */
  learn(forms: readonly DrawnForm[]): Promise<boolean>;
  isStrict(): boolean;
  /** Watches for anything that may show a value. `asIs`: its contents of now can't. */
  beStrict(asIs: boolean): Promise<void>;
  hasAdopted(backendNodeId: number): boolean;
  /** Lets the observers into a shadow root or field that no script can reach. */
  adopt(backendNodeId: number, isBrowsers: boolean): Promise<void>;
  hide(backendNodeId: number, how: Hiding): Promise<void>;
  report(): Promise<WatchReport>;
}

const MASK = pageScript(new URL('./mask.page.js', import.meta.url));
const WORLD = 'omicron-pictures';
/** More shadow roots and fields than this are not watched one by one: the page is too big to be known. */
const ADOPTED_MAX = 1_000;
const UNWATCHABLE = 'a document cannot be watched';

/** The report of mask.page.js */
interface MaskReport {
  readonly late: number;
  readonly changes: number;
  readonly tooBig: boolean;
  readonly styled: boolean;
  readonly newFonts: boolean;
}

/** Begins to watch the document in a frame. Rejects when it does not answer. */
export async function watchDocument(session: CDPSession, { id: frameId }: TreeFrame): Promise<WatchedDocument> {
  const world = { frameId, worldName: WORLD };
  const { executionContextId } = await session.send('Page.createIsolatedWorld', world);
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    contextId: executionContextId,
    expression: `(${MASK})(${fold}, ${findHeldTexts})`,
  });
  const objectId = result.objectId;
  if (exceptionDetails !== undefined || objectId === undefined) throw new Error(UNWATCHABLE);
  const adopted = new Set<number>();
  let learnt = 0;
  let strict = false;
  let before = { late: 0, changes: 0 };

  async function ask(method: string, ...args: unknown[]): Promise<unknown> {
    const answer = await session.send('Runtime.callFunctionOn', {
      objectId,
      functionDeclaration: `function (...args) { return this.${method}(...args); }`,
      arguments: args.map(value => ({ value })),
      returnByValue: true,
    });
    if (answer.exceptionDetails !== undefined) throw new Error(UNWATCHABLE);
    return answer.result.value;
  }

  async function askAboutNode(backendNodeId: number, method: 'adopt' | 'hide', value: unknown): Promise<void> {
    const { object } = await session.send('DOM.resolveNode', { backendNodeId, executionContextId });
    await session.send('Runtime.callFunctionOn', {
      objectId,
      functionDeclaration: `function (node, value) { this.${method}(node, value); }`,
      arguments: [{ objectId: object.objectId ?? '' }, { value }],
    });
  }

  return {
    session,
    frameId,
    async learn(forms) {
      if (learnt === forms.length) return false;
      await ask('learn', forms);
      learnt = forms.length;
      return true;
    },
    isStrict: () => strict,
    async beStrict(asIs) {
      await ask('strict', asIs);
      strict = true;
    },
    hasAdopted: backendNodeId => adopted.has(backendNodeId),
    async adopt(backendNodeId, isBrowsers) {
      if (adopted.size >= ADOPTED_MAX) throw new Error('the page has too many fields and shadow roots');
      adopted.add(backendNodeId);
      await askAboutNode(backendNodeId, 'adopt', isBrowsers);
    },
    hide: (backendNodeId, how) => askAboutNode(backendNodeId, 'hide', how),
    async report() {
      const now = (await ask('report')) as MaskReport;
      const { late, changes } = before;
      before = now;
      return { shown: whyShown(now, late), hasUnseen: now.changes !== changes };
    },
  };
}

function whyShown({ late, tooBig, styled, newFonts }: MaskReport, lateBefore: number): string | undefined {
  if (newFonts) return 'the page loaded a font after a value was filled in';
  if (styled) return 'a style of the page holds a value';
  if (tooBig) return 'the page is too big to be searched';
  if (late !== lateBefore) return 'the page showed a value for a moment';
  return undefined;
}
