import * as z from 'zod';

/** Limits of what is kept of tabs; what is beyond them is left out. */
export const SAVED_TAB_LIMITS = { urlMax: 8_192, sessionStorageMax: 1_048_576 } as const;

/** One tab, as it is opened again. */
export const savedTab = z.strictObject({
  url: z
    .string()
    .max(SAVED_TAB_LIMITS.urlMax)
    .regex(/^https?:/)
    .nullable()
    .describe('Address of the tab; null: it comes back blank.'),
  sessionStorage: z
    .array(z.tuple([z.string(), z.string()]))
    .describe("The tab's sessionStorage of the url's origin, as pairs of key and value."),
  scroll: z.tuple([z.number(), z.number()]).describe('Scroll position, horizontal and vertical, in CSS pixels.'),
});
export type SavedTab = z.infer<typeof savedTab>;

/** The tabs of a browser, as a hibernated session keeps them, and a profile that was asked to. */
export const savedTabs = z
  .strictObject({
    tabs: z.array(savedTab).max(100).describe('Tabs in their order.'),
    active: z.int().min(0).nullable().describe('Place in `tabs` of the one that tools act on; null: none of them.'),
  })
  .meta({ id: 'SavedTabs' });
export type SavedTabs = z.infer<typeof savedTabs>;
