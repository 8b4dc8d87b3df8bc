import * as z from 'zod';
import { contentOf, inTime, type ShownFrame, shownFrames } from '../acting/frames.ts';
import { oneLine } from '../browser/page-text.ts';
import { shownAddress } from '../browser/shown.ts';
import { type Conceal, cut } from '../budget/cut.ts';
import { pageResult } from '../results/result.ts';
import { pageForm } from './custom-form.ts';
import { defineTool } from './define-tool.ts';

const CHARACTERS_MAX = 60_000;
const LINKS_MAX = 500;
const LINK_TEXT_MAX = 200;
const LINK_ADDRESS_MAX = 2_000;
const TREE_MS = 5_000;
/** How the text of a frame begins; a page that writes it gets a space before it. */
const FRAME_MARK = /^(?:--- frame |<!-- frame )/gm;

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
const link = z.object({ text: z.string(), href: z.string() });
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
  seconds: 20,
  effect: 'reads',
  whileTainted: 'open',
  shorter: 'browser_find searches it, where it is served',
  custom: pageForm({
    sets: ['compat', 'both'],
    title: 'Read the page',
    description:
      'Get the content of the page and its frames: text, html, links, or accessibility tree with forms, fields and the ' +
      'selectors that other tools take',
    input: { format: z.enum(['text', 'html', 'accessibility', 'links']).default('accessibility') },
    compatible: true,
    output: { format: z.string().optional(), content: z.string().optional(), truncated: z.boolean().optional() },
    async run({ format }, { page, lease: { conceal, documents, before } }) {
      const content = (text: string) => cut(text, CHARACTERS_MAX, conceal);
      const [own, ...frames] = await shownFrames(page);
      if (own === undefined) throw new Error('The page has no document.');
      /** Reads the page's own document, which must answer, and then those of its frames that do. */
      const each = async <T>(read: (shown: ShownFrame) => Promise<T>): Promise<readonly [T, ...Part<T>[]]> => {
        const parts = frames.map(async (shown): Promise<Part<T>[]> => {
          const answer = await inTime(read(shown).then(found => ({ found })));
          return answer === undefined ? [] : [{ url: shownAddress(shown.frame.url()), ...answer }];
        });
        return [await read(own), ...(await Promise.all(parts)).flat()];
      };
      switch (format) {
        case 'text':
        case 'html': {
          const [text, ...parts] = await each(async ({ frame }) => String(await contentOf(frame, format)));
          const framed = parts.filter(({ found }) => found.trim() !== '');
          const mark = (url: string) =>
            format === 'text' ? `--- frame ${url} ---` : `<!-- frame ${url.replaceAll('--', '%2D%2D')} -->`;
          const own = (text: string) => text.replace(FRAME_MARK, ' $&');
          const all = [own(text), ...framed.map(({ url, found }) => `${mark(url)}\n${own(found)}`)].join('\n\n');
          return pageResult(page, { format, ...(await content(all)) });
        }
        case 'links': {
          const [first, ...parts] = await each(async ({ frame }) => link.array().parse(await contentOf(frame, format)));
          const all = [...first, ...parts.flatMap(({ found }) => found)];
          const links = all.slice(0, LINKS_MAX).map(async ({ text, href }) => ({
            text: (await cut(oneLine(text), LINK_TEXT_MAX, conceal)).content,
            href: (await cut(href, LINK_ADDRESS_MAX, conceal)).content,
          }));
          return pageResult(page, { format, links: await Promise.all(links), truncated: all.length > LINKS_MAX });
        }
        case 'accessibility': {
          const [first, ...parts] = await each(async ({ frame, selectorOf }) => ({
            outline: withSelectors(outline.parse(await contentOf(frame, 'outline')), selectorOf),
            tree: await frame.locator('body').ariaSnapshot({ timeout: TREE_MS }),
          }));
          const outlines = [first.outline, ...parts.map(({ found }) => found.outline)];
          const found = {
            forms: outlines.flatMap(({ forms }) => forms),
            fields: outlines.flatMap(({ fields }) => fields),
            buttons: outlines.flatMap(({ buttons }) => buttons),
          };
          if (documents.isGuarding() && (await documents.isTainted(page)))
            before.shown(await shownIn(selectorsIn(found), conceal));
          const framed = parts.filter(part => part.found.tree.trim() !== '');
          const trees = [first.tree, ...framed.map(part => `--- frame ${part.url} ---\n${part.found.tree}`)];
          const hints =
            found.forms.length + found.fields.length === 0
              ? []
              : ['Pass a selector to browser_type, browser_click, browser_fill_and_submit or browser_login.'];
          return pageResult(page, { format, ...found, ...(await content(trees.join('\n\n'))) }, hints);
        }
      }
    },
    settles: 'nothing',
    snapshotAfter: false,
  }),
});

/** The content of a frame's document. */
interface Part<T> {
  readonly url: string;
  readonly found: T;
}

type Outline = z.infer<typeof outline>;

/** The outline of a frame, with selectors of the page. */
function withSelectors({ forms, fields, buttons }: Outline, selectorOf: ShownFrame['selectorOf']): Outline {
  const on = <T extends { selector: string }>(named: T): T => ({ ...named, selector: selectorOf(named.selector) });
  return {
    forms: forms.map(form => ({ ...on(form), fields: form.fields.map(on), submit: form.submit && on(form.submit) })),
    fields: fields.map(on),
    buttons: buttons.map(on),
  };
}

const selectorsIn = ({ forms, fields, buttons }: Outline): string[] =>
  [
    ...forms,
    ...forms.flatMap(form => [...form.fields, ...(form.submit ? [form.submit] : [])]),
    ...fields,
    ...buttons,
  ].map(({ selector }) => selector);

/** Those that an agent reads as they are. */
async function shownIn(selectors: readonly string[], conceal: Conceal): Promise<string[]> {
  const lines = (await conceal(selectors.join('\n'))).split('\n');
  return lines.length === selectors.length ? selectors.filter((selector, at) => selector === lines[at]) : [];
}
