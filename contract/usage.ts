import * as z from 'zod';
import { foreignId, LIMITS, tagFilter, tagKey } from './session.ts';

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
  by: grouping.default('user').describe('Grouping: `user`, or `tag:` and the key of a tag, such as `tag:team`.'),
  user_id: foreignId.optional().describe('Usage of this user alone.'),
  tag: tagFilter
    .optional()
    .describe('Usage of sessions with this tag, as `key:value`; may be repeated, and then all must match.'),
  since: time
    .optional()
    .describe(
      'Start of the period, inclusive; default: 30 days before `until`. A period with more than 50,000 leases or artifacts is refused; the error names the start from which it can be counted.',
    ),
  until: time.optional().describe('End of the period, exclusive; default, and at the latest: now.'),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(LIMITS.pageSizeMax)
    .default(LIMITS.pageSizeDefault)
    .describe('Largest number of groups.'),
});
export type UsageQuery = z.infer<typeof usageQuery>;

const amounts = {
  sessions: z.int().describe('Sessions that had a lease in the period.'),
  leases: z.int().describe('Leases that ran in the period.'),
  lease_seconds: z.number().describe('Seconds of all leases; each counts by its part of the period.'),
  artifacts: z
    .int()
    .describe('Videos, files and pages that were stored in the period, also those that have expired since.'),
  artifact_bytes: z.int().describe('Bytes of these artifacts.'),
};

/** Answer of `GET /internal/usage`. */
export const usageReport = z
  .object({
    since: z.iso.datetime().describe('Start of the period, inclusive.'),
    until: z.iso.datetime().describe('End of the period, exclusive.'),
    by: z.string().describe('Grouping of the request.'),
    usage: z
      .array(
        z
          .object({
            name: z.string().nullable().describe('User, or value of the tag; null for sessions without it.'),
            ...amounts,
          })
          .meta({ id: 'Usage' }),
      )
      .describe('Usage of each group, most lease seconds first.'),
    total: z.object(amounts).meta({ id: 'UsageTotal' }).describe('Total of all groups, those beyond `limit` included.'),
  })
  .meta({ id: 'UsageReport' });
export interface UsageReport extends z.infer<typeof usageReport> {}
