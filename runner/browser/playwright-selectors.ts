import { createRequire } from 'node:module';
import * as z from 'zod';

/** Playwright reads targets with these functions itself, in the pinned bundle that Playwright MCP uses too. */
const bundle = z.object({
  iso: z.object({
    locatorOrSelectorAsSelector: z.custom<(language: 'javascript', text: string, testIdAttribute: string) => string>(
      value => typeof value === 'function',
    ),
    parseSelector: z.custom<(selector: string) => unknown>(value => typeof value === 'function'),
  }),
});
const { iso } = bundle.parse(createRequire(import.meta.url)('playwright-core/lib/coreBundle'));

/** The selector of a target, which may be written as a locator. Throws where it is neither. */
export const readSelector = (target: string): string =>
  iso.locatorOrSelectorAsSelector('javascript', target, 'data-testid');

/** A selector in the parts that Playwright evaluates. Throws where it does not parse. */
export const parseSelector = (selector: string): unknown => iso.parseSelector(selector);
