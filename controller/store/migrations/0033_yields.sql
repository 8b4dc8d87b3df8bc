-- A released lease that was chosen to give way to a caller in the line: until then no replica chooses it again, and its place is expected.
alter table omicron.browser_sessions add column yields_until timestamptz;
