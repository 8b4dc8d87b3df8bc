import type { Page } from 'playwright-core';
import * as z from 'zod';
import type { Credentials } from './credentials.ts';
import { defineTool } from './define-tool.ts';
import { failed, succeeded } from './result.ts';
import { settled } from './settle.ts';
import { locate } from './target.ts';

const ACTION_MS = 5_000;

/** Types a text, or the value behind a secret's name; resolves with a refusal or nothing. */
async function put(page: Page, selector: string, text: string, credentials: Credentials, signal: AbortSignal) {
  if (credentials.isName(text)) {
    const refusal = await credentials.fill(page, selector, text, signal);
    return refusal && failed(refusal.code, refusal.message);
  }
  await locate(page, selector).fill(text, { timeout: ACTION_MS });
  return undefined;
}

export const type = defineTool({
  name: 'browser_type',
  description: 'Type text into a form field, in place of what it holds',
  seconds: 30,
  input: {
    selector: z.string().min(1).describe('CSS selector of the field'),
    text: z.string().describe('Text to type, or the name of a secret'),
  },
  run: async ({ selector, text }, { page, lease, signal }) =>
    (await put(page, selector, text, lease.credentials, signal)) ?? succeeded(page),
});

export const fillAndSubmit = defineTool({
  name: 'browser_fill_and_submit',
  description: 'Fill the fields of a form and submit it',
  seconds: 45,
  input: {
    fields: z
      .array(z.object({ selector: z.string().min(1), value: z.string().describe('Text, or the name of a secret') }))
      .min(1)
      .max(50),
    submitSelector: z.string().min(1).optional().describe('Left out: Enter is pressed in the last field'),
  },
  async run({ fields, submitSelector }, { page, lease, signal }) {
    for (const { selector, value } of fields) {
      const refused = await put(page, selector, value, lease.credentials, signal);
      if (refused !== undefined) return refused;
    }
    const last = fields.at(-1)?.selector ?? 'body';
    await settled(page, () =>
      submitSelector === undefined
        ? locate(page, last).press('Enter', { timeout: ACTION_MS })
        : locate(page, submitSelector).click({ timeout: ACTION_MS }),
    );
    return succeeded(page);
  },
});
