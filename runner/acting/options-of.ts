import type { ElementHandle, Page } from 'playwright-core';
import * as z from 'zod';
import type { BeforeFill } from '../secrecy/before-fill.ts';
import type { Choice } from '../secrecy/rules.ts';
import { pinTarget } from './target.ts';

const FIND_MS = 1_000;

const choices = z.object({
  kind: z.enum(['list', 'checkbox', 'radio', 'file', 'other']),
  /** The value and the labels of a checkbox or a radio button. */
  names: z.array(z.string()),
  options: z.array(z.object({ text: z.string(), value: z.string() })),
});

/** The choices that an element, or the one that it labels, offers. */
export const choicesOf = async (element: ElementHandle): Promise<z.infer<typeof choices>> =>
  choices.parse(await element.evaluate(readChoices));

/** Whether a text would be compared with what the target's element offers, and did not offer before a secret was filled in. */
export async function choosesAnew(page: Page, { target, texts }: Choice, before: BeforeFill): Promise<boolean> {
  const element = await pinTarget(page, target, FIND_MS);
  if (element === undefined) return false;
  const { kind } = await choicesOf(element);
  if (kind === 'list') return !(await before.isSameList(element));
  return kind !== 'other' && !texts.every(text => SWITCH.test(text.trim()));
}

/** Texts that switch a checkbox or a radio button on, or off, whatever its label is. */
export const ON = /^(?:true|on|yes|checked|1)$/i;
export const OFF = /^(?:false|off|no|unchecked|0|)$/i;
const SWITCH = new RegExp(`${ON.source}|${OFF.source}`, 'i');

/** The part that is read here of an element that is a field, or belongs to the label of one. */
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
  if (field.localName !== 'input' || !['checkbox', 'radio', 'file'].includes(field.type ?? ''))
    return { kind: 'other', names: [], options: [] };
  const labels = [...(field.labels ?? [])].map(label => label.innerText);
  const names = [field.value, ...labels, field.getAttribute('aria-label')].map(text).filter(Boolean);
  return { kind: field.type, names, options: [] };
}
