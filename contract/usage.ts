import * as z from 'zod';
import { foreignId, LIMITS, tagFilter, tagKey } from './session.ts';

/** Usage is counted by user, or by the values of one tag: `tag:team`. */
const grouping = z
  .string()
  .refine(by => by === 'user' || (by.startsWith('tag:') && tagKey.safeParse(by.slice(4)).success), {
    message: 'must be user, or tag: and the name of a tag',
  });

/** Query of `GET /internal/usage` (B7). */
export const usageQuery = z.strictObject({
  by: grouping.default('user'),
  user_id: foreignId.optional(),
  tag: tagFilter.optional(),
  /** Inclusive; default: 30 days before `until`. */
  since: z.iso.datetime({ offset: true }).optional(),
  /** Exclusive; default, and at the latest: now. */
  until: z.iso.datetime({ offset: true }).optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.pageSizeMax).default(LIMITS.pageSizeDefault),
});
export type UsageQuery = z.infer<typeof usageQuery>;

const amounts = {
  /** Sessions that had a lease in the period. */
  sessions: z.int(),
  leases: z.int(),
  /** Of each lease what lies in the period. */
  lease_seconds: z.number(),
  /** Videos, files and pages that were stored in the period, also those that have expired since. */
  artifacts: z.int(),
  artifact_bytes: z.int(),
};

/** Answer of `GET /internal/usage`: those with the most lease seconds first. */
export const usageReport = z
  .object({
    since: z.iso.datetime(),
    until: z.iso.datetime(),
    by: z.string(),
    /** `name`: the user, or the value of the tag; null for sessions without it. */
    usage: z.array(z.object({ name: z.string().nullable(), ...amounts }).meta({ id: 'Usage' })),
    /** Of all, also of those beyond `limit`. */
    total: z.object(amounts).meta({ id: 'UsageTotal' }),
  })
  .meta({ id: 'UsageReport' });
export type UsageReport = z.infer<typeof usageReport>;
