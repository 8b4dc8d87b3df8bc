import type { Page } from 'playwright-core';
import { bareText, quotedText } from '../browser/page-text.ts';
import type { Documents } from '../secrecy/documents.ts';
import { UNFIT_FIELDS } from '../settle/quiet-page.ts';

const TOLD_MAX = 5;
const TEXT_MAX = 200;

/**
 * The browser's messages on fields that keep a form from being sent. It shows them in a bubble outside the page, which is in no text and no
 * picture. Only the names of fields once a credential was filled in: the rest may say how long it is.
 */
export async function unfitFields(page: Page, documents: Pick<Documents, 'isGuarding'>): Promise<string[]> {
  const fields = await page
    .locator(UNFIT_FIELDS)
    .evaluateAll(readFields, TOLD_MAX)
    .catch(() => []);
  return fields.map(({ name, message }) => {
    const why = documents.isGuarding() ? 'it does not fit' : bareText(message.slice(0, TEXT_MAX));
    return `The form is not sent while "${quotedText(name.slice(0, TEXT_MAX))}" is as it is: ${why}`;
  });
}

/** As much of a field as is read here; the rest of this file runs in the page. */
interface Field {
  readonly name: string;
  readonly validationMessage: string;
  readonly labels: Iterable<{ readonly innerText: string }> | null;
  getAttribute(name: string): string | null;
}

function readFields(elements: readonly object[], countMax: number): { name: string; message: string }[] {
  const fields = elements as readonly Field[]; // the selector names fields alone
  return fields.slice(0, countMax).map(field => {
    const [label] = field.labels ?? [];
    const name = field.getAttribute('aria-label') ?? label?.innerText.split('\n')[0]?.trim();
    return { name: name || field.name, message: field.validationMessage };
  });
}
