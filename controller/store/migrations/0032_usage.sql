-- Usage of a period is counted from its leases and artifacts alone, however many came before. A lease shorter than an hour is found by when
-- it began; longer ones, and those that live, are few.
create index runners_redeemed_at on omicron.runners (redeemed_at) where redeemed_at is not null;
create index runners_long on omicron.runners (redeemed_at)
  where redeemed_at is not null and (coalesce(draining_at, gone_at) - redeemed_at < interval '1 hour') is not true;
create index artifacts_created_at on omicron.artifacts (created_at) where state <> 'lost';
