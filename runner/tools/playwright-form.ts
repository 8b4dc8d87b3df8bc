import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Dialog, Page } from 'playwright-core';
import * as z from 'zod';
import type { Refusal } from '../../contract/tool-failure.ts';
import { FIRST_CHANGE_MS, type Settler } from '../settle/settle.ts';
import type { Pattern } from '../snapshot/find.ts';
import type { SnapshotWriter, Wanted } from '../snapshot/writer.ts';
import type { ToolWords } from '../upstream/describe-tool.ts';
import type { AnyForm, Settles } from './form.ts';
import type { ToolLease } from './tool-lease.ts';

/** The form of a tool of Playwright MCP, which has the schema of its arguments. */
export interface PlaywrightForm extends AnyForm {
  /** For people. */
  readonly title: string;
  /** Every word costs each agent tokens in each turn. */
  readonly description: string;
  /** Descriptions of the arguments whose name and type do not say it. */
  readonly args: Readonly<Record<string, string>>;
  /** Arguments that are accepted, but not listed: hardly a task needs them. */
  readonly unlisted: readonly string[];
  /** Arguments of our own, which Playwright MCP does not know. */
  readonly added?: ToolWords['added'];
  /** The browser may keep a form back after it, which it says outside the page: the result names the fields that do not fit. */
  readonly namesUnfitFields?: true;
  /** A file chooser stays open, though the tool does not only read. */
  readonly keepsFileChooser?: true;
  /** It answers a dialog of the tab, with which others wait. */
  readonly answersDialogs?: true;
  readonly run: Run;
}

export type Run = (args: Record<string, unknown>, call: BrowserCall) => Promise<CallToolResult>;

/** One call of a tool, and the browser as its code reaches it. Only `onPage` may be used for what holds a secret. */
export interface BrowserCall extends Pick<Settler, 'settled'> {
  readonly lease: ToolLease;
  readonly signal: AbortSignal;
  /** Has Playwright MCP run the tool, and waits for the page's answer. */
  ask(args: Record<string, unknown>): Promise<CallToolResult>;
  /** Acts on the page in place of Playwright MCP, which is asked where a dialog or a file chooser waits. */
  act(args: Record<string, unknown>, action: PageAction): Promise<CallToolResult>;
  /** Reads the page by the runner's own writer; Playwright MCP is asked where the call wants its snapshots. */
  read(args: Record<string, unknown>, reading: Reading): Promise<CallToolResult>;
  /** Reads the page by the runner's own writer, whatever snapshots the call wants. */
  readOwn(reading: Reading): Promise<CallToolResult>;
  /** Whether each text matches, within a time of its own. Rejects with a `TextTimeout`. */
  matches(texts: readonly string[], pattern: Pattern): Promise<boolean[]>;
  /** Answers a dialog that Playwright MCP does not, as the first of another tab, and waits for the page; undefined: there is none. */
  answerElsewhere(answer: (dialog: Dialog) => Promise<void>): Promise<CallToolResult | undefined>;
  /** Runs work on the page, within the time of the tool or these seconds. Nothing is awaited or added afterwards. */
  onPage(work: (page: Page, signal: AbortSignal) => Promise<CallToolResult>, seconds?: number): Promise<CallToolResult>;
  /** The result with a snapshot of the page as it is now, where the call wants one. */
  withSnapshot(result: CallToolResult): Promise<CallToolResult>;
  /** Asks the rules of secrecy once more, right before the page is used. */
  refusal(page: Page): Promise<Refusal | undefined>;
  readonly tabs: {
    /** Whether the next tab would be closed again. */
    isFull(): boolean;
    closeAll(): Promise<CallToolResult>;
  };
}

/** Acts on the page; resolves with all there is to say beside the page's address. Rejects as Playwright does. */
export type PageAction = (page: Page, signal: AbortSignal) => Promise<CallToolResult>;

/** Reads the page with a writer of snapshots. */
export type Reading = (
  writer: SnapshotWriter,
  page: Page,
  view: Omit<Wanted, 'ref' | 'depth' | 'from'>,
  signal: AbortSignal,
) => Promise<CallToolResult>;

/** The page may answer later, and looks different then. */
export const ANSWERS: Settles = { firstMs: FIRST_CHANGE_MS, begins: 'asks' };
/** A document that was asked for comes by itself; what else changes does so at once. */
export const AT_ONCE: Settles = { firstMs: 0, begins: 'asks' };

export const askPlaywright: Run = (args, call) => call.ask(args);

/** Acts on the page itself. Arguments that are wrong are answered by Playwright MCP, in its words. */
export function onPage<Input extends z.ZodRawShape>(
  input: Input,
  act: (page: Page, args: z.output<z.ZodObject<Input>>, signal: AbortSignal) => Promise<CallToolResult | undefined>,
): Run {
  const schema = z.object(input);
  return (args, call) => {
    const parsed = schema.safeParse(args);
    return parsed.success
      ? call.act(args, async (page, signal) => (await act(page, parsed.data, signal)) ?? { content: [] })
      : call.ask(args);
  };
}

/** Reads the page with the runner's own writer; `parse` undefined: it does not know these arguments, and Playwright MCP is asked. */
export const byWriter =
  (parse: (args: Record<string, unknown>) => Reading | undefined): Run =>
  (args, call) => {
    const reading = parse(args);
    return reading === undefined ? call.ask(args) : call.read(args, reading);
  };

/** The time of a click, a key or a text on an element. */
export const ACTION = { timeout: 5_000 };
/** Said of the two tools that a task begins with: the others accept the same. */
export const TARGET = 'Ref (e12) or selector';
