import type { CallToolResult } from '@modelcontextprotocol/client';

/**
 * A page that users of browsers for agents stumbled over, and the answers that they expect. The folder of a case holds its page
 * (`index.html`, or `routes.ts` where a server has to answer), and this description as the default export of `case.ts`.
 */
export interface Case {
  /** The sentence that holds, as the title of the test. */
  readonly title: string;
  /** Left out: the page is opened first. */
  readonly opens?: false;
  /** Its answers wait for many seconds by their nature: it runs beside others. */
  readonly waits?: true;
  readonly steps: (at: CaseAddress) => readonly Step[];
}

export interface CaseAddress {
  /** The address of the case's page; its origin's host is `127.0.0.1`. */
  readonly url: string;
  /** The host and the port of that address. */
  readonly host: string;
  /** A host that has the same pages by https, with an untrusted certificate. */
  readonly secureHost: string;
}

/** One call of a tool, and what its answer must be. */
export interface Step {
  readonly tool: string;
  /** A text `ref of textbox "City"` stands for the ref of that element in a snapshot of this moment, as agents name elements. */
  readonly args?: Readonly<Record<string, unknown>>;
  /** Every expression matches the text of the answer. */
  readonly shows?: RegExp | readonly RegExp[];
  /** None matches it. */
  readonly hides?: RegExp | readonly RegExp[];
  /** The page posts this to `_log` before the next step. */
  readonly logs?: string;
  /** Asserts on the whole answer. */
  readonly check?: (result: CallToolResult) => void | Promise<void>;
}

export const defineCase = (each: Case): Case => each;

/** Asks the page itself: the answer is the JSON of the expression. */
export const reads = (expression: string, shows: RegExp): Step => ({
  tool: 'browser_evaluate',
  args: { function: `() => ${expression}` },
  shows,
});

/** Opens the page again. */
export const opens = ({ url }: CaseAddress): Step => ({ tool: 'browser_navigate', args: { url } });

/** Words of Playwright for developers, which no answer has. */
export const DEVELOPER_WORDS =
  /Call log|locator\.|page\.\w+:|Timeout \d+ms|elementHandle|waiting for |net::ERR|Browser logs/;
