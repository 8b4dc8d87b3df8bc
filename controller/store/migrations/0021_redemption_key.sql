-- What the process that redeemed asks again with, when the answer was lost.
alter table omicron.runners add column redemption_key uuid;
