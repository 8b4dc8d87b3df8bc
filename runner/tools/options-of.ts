import type { ElementHandle, Page } from 'playwright-core';
import * as z from 'zod';
import { pinned, type Target } from './target.ts';

const FIND_MS = 1_000;

const choices = z.object({
  kind: z.enum(['list', 'checkbox', 'radio', 'other']),
  /** Of a checkbox or a radio button: its value and its labels. */
  names: z.array(z.string()),
  options: z.array(z.object({ text: z.string(), value: z.string() })),
});

/** What an element, or the one that it labels, offers to choose from. */
export const choicesOf = async (element: ElementHandle): Promise<z.infer<typeof choices>> =>
  choices.parse(await element.evaluate(readChoices));

/** The texts and values between which a call can choose by a text, one a line; empty: none, or no such element. */
export async function optionsOf(page: Page, target: Target): Promise<string> {
  const element = await pinned(page, target, FIND_MS);
  if (element === undefined) return '';
  const { names, options } = await choicesOf(element);
  return [...names, ...options.flatMap(({ text, value }) => [text, value])].join('\n');
}

/** What Playwright's own types of a page would say of an element that is a field, or belongs to the label of one. */
interface Field {
  readonly localName: string;
  readonly type?: string;
  readonly value: string;
  readonly labels?: Iterable<{ readonly innerText: string }> | null;
  readonly options: Iterable<{ readonly text: string; readonly value: string }>;
  matches(selector: string): boolean;
  closest(selector: 'label'): { readonly control?: Field | null } | null;
  getAttribute(name: string): string | null;
}

/** Runs in the page. Labels stand for their fields, as where Playwright fills and chooses. */
function readChoices(named: object): unknown {
  const element = named as Field; // an element is one
  const field = element.matches('a, button, input, select, textarea')
    ? element
    : (element.closest('label')?.control ?? element);
  const text = (value: string | null) => (value ?? '').replace(/\s+/g, ' ').trim();
  if (field.localName === 'select') {
    const options = [...field.options].map(each => ({ text: text(each.text), value: each.value }));
    return { kind: 'list', names: [], options };
  }
  if (field.localName !== 'input' || (field.type !== 'checkbox' && field.type !== 'radio'))
    return { kind: 'other', names: [], options: [] };
  const labels = [...(field.labels ?? [])].map(label => label.innerText);
  const names = [field.value, ...labels, field.getAttribute('aria-label')].map(text).filter(Boolean);
  return { kind: field.type, names, options: [] };
}
