import { setTimeout as delay } from 'node:timers/promises';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Locator, Page } from 'playwright-core';
import * as z from 'zod';
import { at, drawnBox } from '../tools/drawn-box.ts';
import { evaluateOnPage } from '../tools/evaluate.ts';
import { goTo } from '../tools/go-to.ts';
import { invalidArguments } from '../tools/result.ts';
import { existing } from '../tools/target.ts';
import { upstreamTabOf } from './upstream-tab.ts';

/** Runs a call on the page; resolves with what there is to say beside where the page is. Rejects as Playwright does. */
export type DirectCall = (page: Page, signal: AbortSignal) => Promise<CallToolResult>;

const ACTION = { timeout: 5_000 };
const NAVIGATION_MS = 30_000;
const WAIT_SECONDS_MAX = 30;

const text = (...lines: string[]): CallToolResult => ({ content: lines.map(line => ({ type: 'text', text: line })) });
const DONE: CallToolResult = { content: [] };

/** The arguments of one tool, and what it does. Those that are wrong are answered by Playwright MCP, in its words. */
function direct<Input extends z.ZodRawShape>(
  input: Input,
  run: (page: Page, args: z.output<z.ZodObject<Input>>, signal: AbortSignal) => Promise<CallToolResult | undefined>,
): (args: Record<string, unknown>) => DirectCall | undefined {
  const schema = z.object(input);
  return args => {
    const parsed = schema.safeParse(args);
    return parsed.success ? async (page, signal) => (await run(page, parsed.data, signal)) ?? DONE : undefined;
  };
}

const target = z.string();
const values = z.array(z.string());
const flag = z.boolean().optional();
const FIELD_TYPES = ['textbox', 'checkbox', 'radio', 'combobox', 'slider'] as const;

const DIRECT: Readonly<Record<string, (args: Record<string, unknown>) => DirectCall | undefined>> = {
  browser_navigate: direct({ url: z.string() }, async (page, { url }, signal) => {
    upstreamTabOf(page)._clearCollectedArtifacts();
    await goTo(page, url, signal);
  }),
  browser_navigate_back: direct({}, async page => {
    await page.goBack({ waitUntil: 'commit', timeout: NAVIGATION_MS });
  }),
  browser_click: direct(
    {
      target,
      doubleClick: flag,
      button: z.enum(['left', 'right', 'middle']).optional(),
      modifiers: z.array(z.enum(['Alt', 'Control', 'ControlOrMeta', 'Meta', 'Shift'])).optional(),
    },
    async (page, { target, doubleClick, button, modifiers }) => {
      const [found, drawn] = await Promise.all([existing(page, target), drawnBox(page, target)]);
      const element = drawn?.element ?? found;
      const options = { ...(button && { button }), ...(modifiers && { modifiers }), ...at(drawn), ...ACTION };
      await (doubleClick === true ? element.dblclick(options) : element.click(options));
    },
  ),
  browser_hover: direct({ target }, async (page, { target }) => {
    await (await existing(page, target)).hover(ACTION);
  }),
  browser_type: direct({ target, text: z.string(), submit: flag, slowly: flag }, async (page, args) => {
    const element = await existing(page, args.target);
    await (args.slowly === true ? typeSlowly(element, args.text) : element.fill(args.text, ACTION));
    if (args.submit === true) await element.press('Enter', ACTION);
  }),
  browser_select_option: direct({ target, values }, async (page, { target, values }) => {
    await (await existing(page, target)).selectOption(values, ACTION);
  }),
  browser_fill_form: direct(
    { fields: z.array(z.object({ target, type: z.enum(FIELD_TYPES), value: z.string(), name: z.string() })) },
    async (page, { fields }) => {
      for (const field of fields) await fillField(page, field);
    },
  ),
  browser_press_key: direct({ key: z.string() }, async (page, { key }) => {
    await page.keyboard.press(key);
  }),
  browser_wait_for: direct(
    { time: z.number().optional(), text: z.string().optional(), textGone: z.string().optional() },
    waitFor,
  ),
  browser_evaluate: direct({ function: z.string(), target: target.optional() }, evaluateOnPage),
};

/** How a call of Playwright MCP's is made on the page itself; undefined: it has to be asked. */
export const directCall = (name: string, args: Record<string, unknown>): DirectCall | undefined =>
  Object.hasOwn(DIRECT, name) ? DIRECT[name]?.(args) : undefined;

/** Key by key, in place of what the field holds: Playwright alone would put the text before that. */
async function typeSlowly(element: Locator, text: string): Promise<void> {
  // What is no field takes keys too.
  if (await element.isEditable(ACTION).catch(() => false)) await element.selectText(ACTION);
  await element.pressSequentially(text, ACTION);
}

interface Field {
  readonly target: string;
  readonly type: (typeof FIELD_TYPES)[number];
  readonly value: string;
}

async function fillField(page: Page, { target, type, value }: Field): Promise<void> {
  const element = await existing(page, target);
  if (type === 'combobox') await element.selectOption({ label: value }, ACTION);
  else if (type === 'checkbox' || type === 'radio') {
    const drawn = await drawnBox(page, target);
    await (drawn?.element ?? element).setChecked(value === 'true', { ...at(drawn), ...ACTION });
  } else await element.fill(value, ACTION);
}

interface Wait {
  readonly time?: number | undefined;
  readonly text?: string | undefined;
  readonly textGone?: string | undefined;
}

async function waitFor(
  page: Page,
  { time, text: wanted, textGone }: Wait,
  signal: AbortSignal,
): Promise<CallToolResult> {
  if (!wanted && !textGone && !time) return invalidArguments('Either time, text or textGone must be provided.');
  const seconds = Math.min(time ?? 0, WAIT_SECONDS_MAX);
  if (seconds > 0) await delay(seconds * 1_000, undefined, { signal });
  if (textGone)
    await page
      .getByText(textGone)
      .first()
      .waitFor({ state: 'hidden', ...ACTION });
  if (wanted)
    await page
      .getByText(wanted)
      .first()
      .waitFor({ state: 'visible', ...ACTION });
  if (wanted || textGone) return text(`Waited for ${wanted || textGone}`);
  const bound = seconds === time ? '' : ` (requested ${time}, maximum is ${WAIT_SECONDS_MAX})`;
  return text(`Waited for ${seconds} seconds${bound}`);
}
