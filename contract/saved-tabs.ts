import * as z from 'zod';

/** Limits of what is kept of tabs; what is beyond them is left out. */
export const SAVED_TAB_LIMITS = { urlMax: 8_192, sessionStorageMax: 1_048_576 } as const;

/** One tab, as it is opened again. */
export const savedTab = z.strictObject({
  /** Null: it comes back blank. */
  url: z
    .string()
    .max(SAVED_TAB_LIMITS.urlMax)
    .regex(/^https?:/)
    .nullable(),
  /** The tab's sessionStorage of the url's origin. */
  sessionStorage: z.array(z.tuple([z.string(), z.string()])),
  /** CSS pixels. */
  scroll: z.tuple([z.number(), z.number()]),
});
export type SavedTab = z.infer<typeof savedTab>;

/** The tabs of a browser, as a hibernated session keeps them, and a profile that was asked to. */
export const savedTabs = z
  .strictObject({
    /** In their order. */
    tabs: z.array(savedTab).max(100),
    /** Place in `tabs` of the one that tools act on; null: none of them. */
    active: z.int().min(0).nullable(),
  })
  .meta({ id: 'SavedTabs' });
export type SavedTabs = z.infer<typeof savedTabs>;
