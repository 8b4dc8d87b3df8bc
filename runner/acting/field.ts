import type { ElementHandle, Page } from 'playwright-core';
import * as z from 'zod';
import { isRef, locate, type Target } from './target.ts';

const fieldSchema = z.object({
  kind: z.enum([
    ...(['list', 'checkbox', 'radio', 'file'] as const),
    // radio buttons under one element
    'group',
    // a list, and a slider, that the page draws itself
    ...(['drawn', 'slider'] as const),
    // an input that takes values of one form alone: a date, a number, a colour
    'formed',
    'other',
  ]),
  /** The type of an input. */
  type: z.string(),
  obstacle: z.enum(['read-only', 'disabled', 'inert', 'none']),
  isChecked: z.boolean(),
  isMultiple: z.boolean(),
  /** The value and the labels of a checkbox or a radio button. */
  names: z.array(z.string()),
  options: z.array(z.object({ text: z.string(), value: z.string(), isDisabled: z.boolean() })),
  /** An input that opens a list of options. */
  isCombobox: z.boolean(),
  /** An unseen text area, by which an editor that draws its text itself takes keys. */
  isEditorInput: z.boolean(),
  /** Characters that it takes; -1: any number. */
  lengthMax: z.number(),
  /** The numbers that a slider takes, counted from `base`; step 0: any between its bounds. */
  scale: z.object({ min: z.number(), max: z.number(), base: z.number(), step: z.number() }).optional(),
});

/** A field as an agent can fill it: the element that was named, or the one that it labels. */
export type Field = z.infer<typeof fieldSchema>;
export type FieldOption = Field['options'][number];

const fieldsSchema = z.object({ count: z.number(), first: fieldSchema.optional() });

type Fields = z.infer<typeof fieldsSchema>;

/** The first field of a target, and how many elements the target names. */
export async function fieldsOf(page: Page, target: Target): Promise<Fields> {
  if (typeof target !== 'string') return fieldsSchema.parse(await target.evaluate(readFields));
  const found = locate(page, target);
  if (!isRef(target)) return fieldsSchema.parse(await found.evaluateAll(readFields));
  // Only Playwright's own world knows refs, and `evaluateAll` looks in the page's. The frame of one may be gone.
  const count = await found.count().catch(() => 0);
  return count === 0 ? { count } : fieldsSchema.parse(await found.first().evaluate(readFields));
}

/** The field that an element is, or labels. */
export async function fieldOf(element: ElementHandle): Promise<Field> {
  return fieldSchema.parse(fieldsSchema.parse(await element.evaluate(readFields)).first);
}

/** The part that is read here of an element that is a field, or belongs to the label of one. */
interface Part {
  readonly localName: string;
  readonly type?: string;
  readonly value: string;
  readonly checked?: boolean;
  readonly readOnly?: boolean;
  readonly multiple?: boolean;
  readonly maxLength?: number;
  readonly list?: { readonly options: Iterable<Option> } | null;
  readonly parentElement: Part | null;
  readonly innerText: string;
  readonly labels?: Iterable<Part> | null;
  readonly options: Iterable<Option>;
  readonly ownerDocument: { querySelectorAll(selector: string): Iterable<Part> };
  matches(selector: string): boolean;
  contains(other: Part): boolean;
  closest(selector: string): (Part & { readonly control?: Part | null }) | null;
  getAttribute(name: string): string | null;
  getBoundingClientRect(): { readonly width: number; readonly height: number };
  checkVisibility(options?: { opacityProperty: boolean }): boolean;
  querySelectorAll(selector: string): Iterable<Part>;
}
interface Option {
  readonly label: string;
  readonly text: string;
  readonly value: string;
  matches(selector: string): boolean;
}

/** Runs in the page. Labels stand for their fields, as where Playwright fills and chooses. */
function readFields(named: object): unknown {
  const elements = (Array.isArray(named) ? named : [named]) as Part[]; // elements, by a selector or a handle
  const [first] = elements;
  return { count: elements.length, ...(first && { first: readField(first) }) };

  /** https://html.spec.whatwg.org/multipage/input.html#range-state-(type=range) */
  function scaleOf(slider: Part): unknown {
    const number = (name: string, otherwise: number) => {
      const given = slider.getAttribute(name)?.trim() ?? '';
      return given === '' || !Number.isFinite(Number(given)) ? otherwise : Number(given);
    };
    const isAny = slider.getAttribute('step')?.trim().toLowerCase() === 'any';
    const step = number('step', 1);
    const min = number('min', 0);
    const max = Math.max(min, number('max', 100));
    return { min, max, base: number('min', number('value', 0)), step: isAny ? 0 : step > 0 ? step : 1 };
  }

  /** Ace, CodeMirror and Monaco hold it at the cursor, as small as a caret or clear; people see what the editor draws. */
  function isEditorInput(field: Part): boolean {
    if (field.localName !== 'textarea' || !field.checkVisibility()) return false;
    if (!field.checkVisibility({ opacityProperty: true })) return true;
    return [field, field.parentElement].some(each => {
      const { width = 4, height = 4 } = each?.getBoundingClientRect() ?? {};
      return Math.min(width, height) < 4;
    });
  }

  function readField(element: Part): unknown {
    const isOwn = element.matches('a, button, input, select, textarea, [role], [contenteditable]');
    const field = isOwn ? element : (element.closest('label')?.control ?? element);
    const text = (value: string | null) => (value ?? '').replace(/\s+/g, ' ').trim();
    const role = (field.getAttribute('role') ?? '').trim().toLowerCase();
    const type = field.localName === 'input' ? (field.type ?? 'text') : '';
    const namesOf = (each: Part) =>
      [
        each.localName === 'input' ? each.value : each.innerText,
        ...[...(each.labels ?? [])].map(label => label.innerText),
        each.getAttribute('aria-label'),
      ]
        .map(text)
        .filter(Boolean);
    const modals = [...field.ownerDocument.querySelectorAll('dialog:modal')];
    const isInert =
      field.closest('[inert]') !== null || (modals.length > 0 && !modals.some(each => each.contains(field)));
    const isReadOnly = field.readOnly === true || field.getAttribute('aria-readonly') === 'true';
    const isDisabled = field.matches(':disabled') || field.closest('[aria-disabled=true]') !== null;
    const facts = {
      kind: 'other',
      type,
      obstacle: isInert ? 'inert' : isDisabled ? 'disabled' : isReadOnly ? 'read-only' : 'none',
      isChecked: field.checked ?? field.getAttribute('aria-checked') === 'true',
      isMultiple: field.multiple === true,
      isCombobox: field.localName === 'input' && role === 'combobox',
      isEditorInput: isEditorInput(field),
      lengthMax: field.maxLength ?? -1,
      names: [] as string[],
      options: [] as unknown[],
    };
    const optionsOf = (options: Iterable<Option>) =>
      [...options].map(each => ({
        text: text(each.label || each.text),
        value: each.value,
        isDisabled: each.matches(':disabled'),
      }));
    if (field.localName === 'select') return { ...facts, kind: 'list', options: optionsOf(field.options) };
    if (['checkbox', 'radio'].includes(type)) return { ...facts, kind: type, names: namesOf(field) };
    if (type === 'file') return { ...facts, kind: 'file' };
    if (type === 'range') return { ...facts, kind: 'formed', scale: scaleOf(field) };
    if (/^(?:date|time|datetime-local|month|week|number|color)$/.test(type)) return { ...facts, kind: 'formed' };
    // Nothing can be typed into it: a click opens its list.
    if (facts.isCombobox && facts.obstacle === 'read-only') return { ...facts, kind: 'drawn', obstacle: 'none' };
    if (['input', 'textarea'].includes(field.localName))
      return { ...facts, options: optionsOf(field.list?.options ?? []) };
    if (/^(?:checkbox|switch|menuitemcheckbox)$/.test(role))
      return { ...facts, kind: 'checkbox', names: namesOf(field) };
    if (/^(?:radio|menuitemradio)$/.test(role)) return { ...facts, kind: 'radio', names: namesOf(field) };
    const isDrawn = /^(?:combobox|listbox)$/.test(role) || field.getAttribute('aria-haspopup') === 'listbox';
    if (isDrawn && !field.matches('[contenteditable]')) return { ...facts, kind: 'drawn' };
    if (
      /^(?:slider|spinbutton)$/.test(role) &&
      field.getAttribute('aria-valuenow') !== null &&
      !field.matches('[contenteditable]')
    )
      return { ...facts, kind: 'slider' };
    const radios = [...field.querySelectorAll('input[type=radio], [role=radio]')];
    if (
      radios.length === 0 ||
      field.querySelectorAll('textarea, select, input:not([type=radio], [type=hidden])')[Symbol.iterator]().next()
        .done !== true
    )
      return facts;
    const options = radios.map(each => {
      const [value = '', name = value] = namesOf(each);
      return { text: name, value, isDisabled: each.matches(':disabled') };
    });
    return { ...facts, kind: 'group', options };
  }
}
