import * as z from 'zod';
import { foreignId, LIMITS, tagFilter, tagKey } from './session.ts';

/** Usage is counted by user, or by the values of one tag: `tag:team`. */
const grouping = z
  .string()
  .refine(by => by === 'user' || (by.startsWith('tag:') && tagKey.safeParse(by.slice(4)).success), {
    message: 'must be user, or tag: and the name of a tag',
  });

/** Years that Postgres and JavaScript write alike. */
const YEARS = { firstMs: Date.parse('1970-01-01T00:00:00Z'), endMs: Date.parse('9999-12-31T23:59:59.999Z') };
const time = z.iso
  .datetime({ offset: true })
  .refine(text => Date.parse(text) >= YEARS.firstMs && Date.parse(text) <= YEARS.endMs, {
    message: 'must be from 1970 to 9999',
  });

/** Query of `GET /internal/usage` (B7). */
export const usageQuery = z.strictObject({
  by: grouping.default('user'),
  user_id: foreignId.optional(),
  tag: tagFilter.optional(),
  /** Inclusive; default: 30 days before `until`. */
  since: time.optional(),
  /** Exclusive; default, and at the latest: now. */
  until: time.optional(),
  limit: z.coerce.number().int().min(1).max(LIMITS.pageSizeMax).default(LIMITS.pageSizeDefault),
});
export type UsageQuery = z.infer<typeof usageQuery>;

const amounts = {
  /** Sessions that had a lease in the period. */
  sessions: z.int(),
  leases: z.int(),
  /** Each lease counts by its part of the period. */
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
    /** Total of all, those beyond `limit` included. */
    total: z.object(amounts).meta({ id: 'UsageTotal' }),
  })
  .meta({ id: 'UsageReport' });
export type UsageReport = z.infer<typeof usageReport>;
