import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import * as z from 'zod';
import { within } from '../../time/within.ts';
import { pageScript } from '../browser/page-script.ts';
import { sessionOf } from '../browser/page-session.ts';
import { shownTitle, TITLE_CHARACTERS_MAX } from '../browser/shown.ts';

export interface QuietOptions {
  /** Without a change, after one. */
  readonly quietMs: number;
  /** For the first change, or the end of what the page says is under way. */
  readonly firstMs: number;
  /** In place of that, where the focus and what is scrolled stay as they are; undefined: as long. */
  readonly unheardMs?: number | undefined;
  /** For the view of another address, after a move within the document. */
  readonly viewMs: number;
  readonly capMs: number;
  /** Something else than a change showed that the page does something. */
  readonly had: boolean;
}

/** Watches the documents that one tab shows, one after the other. Nothing here rejects: such a document is not waited for. */
export interface QuietPage {
  /** An action begins: changes count from now on. Later requests here come after it, so its answer need not be awaited. */
  begin(): Begun;
  /** Whether a script may hear of a key that is pressed now; asked before it is. */
  hears(): Promise<boolean>;
  /** Whether the document shows something new, and does not say that more is to come. */
  shows(): Promise<boolean>;
  /** Resolves once the document is quiet; undefined: there is none that answers. */
  quiet(options: QuietOptions): Promise<Look | undefined>;
  /** The action is over: changes from now on are the page’s own. */
  end(): Promise<Look | undefined>;
  look(): Promise<Look | undefined>;
}

/** Both are bounded. */
export interface Begun {
  /** Messages sent later over `sessionOf` the page come after it. */
  readonly sent: Promise<void>;
  /** Everything that is sent later comes after it. */
  readonly answered: Promise<void>;
}

/** O20: what only a person can give. */
const CHALLENGES = ['captcha', 'code'] as const;
export type Challenge = (typeof CHALLENGES)[number];

const lookOf = z.object({
  /** The challenge that the document shows its person, if any. */
  challenge: z.enum(CHALLENGES).nullable(),
  /** How many there are of it and of the shadow roots in it that are open. */
  elements: z.int(),
  title: z.string().transform(shownTitle),
  /** More of the document is to come. */
  loading: z.boolean(),
  /** Whether it marks a field that keeps its form from being sent. */
  unfit: z.boolean(),
  /** A name for what a snapshot of it shows: of another look with the same one, so was that. Null: unknown. */
  state: z.string().nullable(),
});
/** Facts that a document reports about itself. */
export type Look = z.output<typeof lookOf>;

const lookIn = (answer: { readonly value: unknown } | undefined): Look | undefined =>
  lookOf.safeParse(answer?.value).data;

const WORLD = 'omicron-settle';
const SCRIPT = pageScript(new URL('./quiet.page.js', import.meta.url));
const CHALLENGE_IN = pageScript(new URL('./challenge.page.js', import.meta.url));
const HEARS = pageScript(new URL('./hears.page.js', import.meta.url));
const STATE = pageScript(new URL('./state.page.js', import.meta.url));
/** Fields that keep their form from being sent, once a person or an agent has been there. */
export const UNFIT_FIELDS = ['input', 'select', 'textarea'].map(tag => `${tag}:user-invalid`).join(', ');
const LOOK = JSON.stringify({ titleMax: TITLE_CHARACTERS_MAX + 1, unfit: UNFIT_FIELDS });
const BEGIN = 'begin()';
/** A page that is busy with a script does not answer. */
const ANSWER_MS = 300;

/** A tab keeps its frame. It is asked for once, of a new tab: the answer has the page's address, which can be of any length. */
async function attach(page: Page) {
  const session = await sessionOf(page);
  const { frameTree } = await session.send('Page.getFrameTree');
  return { session, frameId: frameTree.frame.id };
}

/** `isNamed`: whether looks are to name the state of the document. `answerMs`: a document that does not answer by then is not waited for. */
export function quietPage(page: Page, isNamed: () => boolean, answerMs = ANSWER_MS): QuietPage {
  const attached = attach(page).catch(() => undefined);
  let world: Promise<number> | undefined;
  /** Has the script, which need not be sent again. */
  let taught: number | undefined;
  let acting = false;

  async function createWorld(): Promise<number> {
    const tab = await attached;
    if (tab === undefined) throw new Error('the tab is gone');
    const { session, frameId } = tab;
    return (await session.send('Page.createIsolatedWorld', { frameId, worldName: WORLD })).executionContextId;
  }

  /** The world of a document goes with it: the next one gets a new one, while it still loads. */
  function renew(): Promise<number> {
    taught = undefined; // another renderer may use its id again
    const renewed = createWorld();
    renewed.catch(() => undefined);
    return renewed;
  }
  page.on('framenavigated', frame => {
    if (frame === page.mainFrame()) world = acting ? renew() : undefined;
  });

  async function evaluate(call: string, onSent?: () => void): Promise<unknown> {
    world ??= renew();
    const used = world;
    const contextId = await used;
    const session = (await attached)?.session;
    const settle =
      taught === contextId
        ? 'settle'
        : `(globalThis.settle ??= (${SCRIPT})(${acting}, ${CHALLENGE_IN}, (${STATE})(), ${LOOK}))`;
    const asked = session?.send('Runtime.evaluate', {
      contextId,
      awaitPromise: true,
      returnByValue: true,
      expression: `${settle}.${call}`,
    });
    onSent?.();
    const answer = await asked;
    if (answer === undefined || answer.exceptionDetails !== undefined) throw new Error('the document went away');
    if (world === used) taught = contextId;
    return answer.result.value;
  }

  async function askWhetherHeard(): Promise<boolean> {
    const session = (await attached)?.session;
    const asked = { expression: HEARS, returnByValue: true, includeCommandLineAPI: true };
    return (await session?.send('Runtime.evaluate', asked))?.result.value !== false;
  }

  /** How many questions were asked: the page gets them in this order, whether or not an answer is awaited. */
  let count = 0;

  async function ask(
    call: string,
    { capMs = 0, onSent }: { capMs?: number; onSent?: () => void } = {},
  ): Promise<{ readonly value: unknown } | undefined> {
    count += 1;
    const own = count;
    const first = evaluate(call, onSent);
    const used = world;
    const asked = first.catch(() => {
      const isReplaced = world !== used;
      if (!isReplaced) world = undefined;
      // Nothing may come after what was asked since; a document that comes during an action begins by itself.
      return own !== count || (isReplaced && call === BEGIN) ? undefined : evaluate(call);
    });
    const answer = asked.then(
      value => ({ value }),
      () => undefined,
    );
    return Promise.race([answer, delay(capMs + answerMs, undefined, { ref: false })]);
  }

  return {
    begin() {
      acting = true;
      const { promise: sent, resolve: onSent } = Promise.withResolvers<void>();
      const answered = ask(BEGIN, { onSent }).then(() => onSent());
      return { sent, answered };
    },
    async end() {
      acting = false;
      return lookIn(await ask(`end(${isNamed()})`));
    },
    look: async () => lookIn(await ask(`look(${isNamed()})`)),
    hears: () => within(askWhetherHeard(), answerMs, true),
    shows: async () => (await ask('shows()'))?.value === true,
    quiet: async options =>
      lookIn(
        await ask(`quiet(${JSON.stringify({ ...options, named: isNamed() })})`, {
          capMs: options.capMs,
        }),
      ),
  };
}
