import type { BrowserContext } from 'playwright-core';
import { bareText } from '../../browser/page-text.ts';
import { type Conceal, cut } from '../../budget/cut.ts';

/** Console messages of the pages of a lease, for the results of calls. */
export interface ConsoleMessages {
  /** Returns the messages since the last call, errors first; at most a few lines. Empty where no console may be shown. */
  take(): Promise<string[]>;
}

export interface ConsoleMessagesOptions {
  readonly context: BrowserContext;
  /** Takes secrets out of a text. */
  readonly conceal: Conceal;
  /** Whether the agent may not read the console now. */
  readonly isClosed: () => boolean;
}

const LINES_MAX = 5;
const LINE_CHARACTERS_MAX = 300;
/** A page that floods costs no more memory than this. */
const KEPT_MAX = 100;
const KEPT_CHARACTERS_MAX = 2_000;
/** Not `debug`, nor what only groups and counts. */
const SHOWN = new Map([
  ['error', 0],
  ['assert', 0],
  ['warning', 1],
  ['log', 2],
  ['info', 2],
]);

export function consoleNotes({ context, conceal, isClosed }: ConsoleMessagesOptions): ConsoleMessages {
  let kept: { readonly rank: number; readonly text: string }[] = [];
  let count = 0;

  function add(type: string, text: string): void {
    const rank = SHOWN.get(type);
    if (rank === undefined) return;
    count += 1;
    if (kept.length < KEPT_MAX)
      kept.push({ rank, text: `[${type.toUpperCase()}] ${bareText(text.slice(0, KEPT_CHARACTERS_MAX))}` });
  }
  context.on('console', message => add(message.type(), message.text()));
  context.on('weberror', error => add('error', String(error.error())));

  return {
    async take() {
      const written = kept.sort((a, b) => a.rank - b.rank).slice(0, LINES_MAX);
      const more = count - written.length;
      kept = [];
      count = 0;
      if (written.length === 0 || isClosed()) return [];
      const lines = await Promise.all(
        written.map(async ({ text }) => (await cut(text, LINE_CHARACTERS_MAX, conceal)).content),
      );
      return [...lines, ...(more > 0 ? [`and ${more} more`] : [])];
    },
  };
}
