import * as z from 'zod';

/** The name of an artifact that is of a page, e.g. `pages/last.html`. */
export const pageArtifactName = z.string().regex(/^pages\/(last\.(jpg|html|json)|call-\d{4}\.jpg)$/);

/** Contents of `pages/last.json`, without secrets. */
export const keptPage = z.object({
  url: z.string(),
  title: z.string(),
  at: z.iso.datetime(),
  /** Why there is no `pages/last.html`, or no `pages/last.jpg`. */
  html_withheld: z.string().optional(),
  picture_withheld: z.string().optional(),
});
export interface KeptPage extends z.infer<typeof keptPage> {}
