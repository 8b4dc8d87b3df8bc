import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { cut } from './cut.ts';
import { defineTool } from './define-tool.ts';
import { succeeded } from './result.ts';

const CHARACTERS_MAX = 60_000;
const LINKS_MAX = 500;
const LINK_TEXT_MAX = 200;
const LINK_ADDRESS_MAX = 2_000;

/** Runs in the page; see there. */
const OUTLINE = readFileSync(new URL('./outline.page.js', import.meta.url), 'utf8');

const field = z.object({
  tag: z.string(),
  type: z.string(),
  name: z.string(),
  label: z.string(),
  selector: z.string(),
  required: z.boolean(),
  disabled: z.boolean(),
  autocomplete: z.string(),
  options: z.array(z.string()).optional(),
});
const control = z.object({ text: z.string(), selector: z.string() });
const outline = z.object({
  forms: z.array(
    z.object({
      selector: z.string(),
      method: z.string(),
      action: z.string(),
      fields: z.array(field),
      submit: control.nullable(),
    }),
  ),
  fields: z.array(field),
  buttons: z.array(control),
});

export const getContent = defineTool({
  name: 'browser_get_content',
  title: 'Read the page',
  does: 'reads',
  description:
    'Get the content of the page: its text, its html, its links, or its accessibility tree with forms, fields and the ' +
    'selectors that other tools take',
  seconds: 20,
  input: { format: z.enum(['text', 'html', 'accessibility', 'links']).default('accessibility') },
  compatible: true,
  output: { format: z.string().optional(), content: z.string().optional(), truncated: z.boolean().optional() },
  async run({ format }, { page, lease: { conceal } }) {
    const content = (text: string) => cut(text, CHARACTERS_MAX, conceal);
    switch (format) {
      case 'text':
        return succeeded(page, {
          format,
          ...(await content(String(await page.evaluate('document.body?.innerText ?? ""')))),
        });
      case 'html':
        return succeeded(page, { format, ...(await content(await page.content())) });
      case 'links': {
        const all = z.array(z.object({ text: z.string(), href: z.string() })).parse(await page.evaluate(LINKS));
        const links = all.slice(0, LINKS_MAX).map(async ({ text, href }) => ({
          text: (await cut(text, LINK_TEXT_MAX, conceal)).content,
          href: (await cut(href, LINK_ADDRESS_MAX, conceal)).content,
        }));
        return succeeded(page, { format, links: await Promise.all(links), truncated: all.length > LINKS_MAX });
      }
      case 'accessibility': {
        const found = outline.parse(await page.evaluate(OUTLINE));
        const tree = await content(await page.locator('body').ariaSnapshot({ timeout: 5_000 }));
        const hints =
          found.forms.length + found.fields.length === 0
            ? []
            : ['Pass a selector to browser_type, browser_click, browser_fill_and_submit or browser_login.'];
        return succeeded(page, { format, ...found, ...tree }, hints);
      }
    }
  },
});

/** Runs in the page. What is far beyond what is shown is left there. */
const LINKS = `[...document.querySelectorAll('a[href]')].slice(0, ${LINKS_MAX + 1}).map(a => ({
  text: (a.innerText || a.getAttribute('aria-label') || '').trim().slice(0, 20_000),
  href: a.href.slice(0, 20_000),
}))`;
