import * as z from 'zod';
import { type UsageQuery, type UsageReport, usageReport } from '../../contract/usage.ts';
import type { Database } from '../ports/database.ts';

/** B7: what users and tags used, counted when it is asked for: nothing is kept for it. */
export interface Usage {
  report(query: UsageQuery): Promise<UsageReport>;
}

/**
 * A lease lasts from its redemption until its runner was ordered to stop, or was lost; one that is live, until now. `$3`: the tag whose
 * values are counted; null: by user.
 */
const REPORT = `
with period as (
  select coalesce($1::timestamptz, until - interval '30 days') as since, until
    from (select least(coalesce($2::timestamptz, clock_timestamp()), clock_timestamp()) as until) now
), chosen as (
  select id, case when $3::text is null then user_id else tags ->> $3 end as name
    from omicron.browser_sessions where user_id = coalesce($4, user_id) and tags @> $5::jsonb
), used as (
  select c.name, c.id as session_id, null::bigint as bytes,
         extract(epoch from least(coalesce(r.draining_at, r.gone_at, until), until) - greatest(r.redeemed_at, since)) as seconds
    from period, chosen c join omicron.runners r on r.session_id = c.id
   where r.redeemed_at < until and coalesce(r.draining_at, r.gone_at, until) > since
  union all
  select c.name, null, a.bytes, null
    from period, chosen c join omicron.artifacts a on a.session_id = c.id
   where a.state <> 'lost' and a.created_at >= since and a.created_at < until
), summed as (
  select grouping(name) = 1 as is_total, name, count(distinct session_id)::int as sessions, count(seconds)::int as leases,
         round(coalesce(sum(seconds), 0), 3)::float8 as lease_seconds,
         count(bytes)::int as artifacts, coalesce(sum(bytes), 0)::float8 as artifact_bytes
    from used group by grouping sets ((name), ())
)
select since, until, row from period left join lateral (
  select to_jsonb(s) as row from summed s order by is_total desc, lease_seconds desc, name limit $6 + 1
) listed on true`;

const time = z.coerce.date().transform(at => at.toISOString());
const found = z.object({ since: time, until: time, row: z.looseObject({ is_total: z.boolean() }) });

/** Postgres refuses some offsets that ISO 8601 has. */
const inUtc = (text: string | undefined): string | null => (text === undefined ? null : new Date(text).toISOString());

export function sqlUsage(database: Database): Usage {
  return {
    async report({ by, user_id, tag = {}, since, until, limit }) {
      const ofTag = by === 'user' ? null : by.slice('tag:'.length);
      const parameters = [inUtc(since), inUtc(until), ofTag, user_id ?? null, JSON.stringify(tag), limit];
      const rows = z.array(found).parse(await database.query(REPORT, parameters));
      const period = { since: rows[0]?.since, until: rows[0]?.until, by };
      const total = rows.find(({ row }) => row.is_total)?.row;
      const usage = rows.flatMap(({ row }) => (row.is_total ? [] : [row]));
      return usageReport.parse({ ...period, usage, total });
    },
  };
}
