-- When a worker began to launch it: its time to start counts from here. Until then it waits for its turn.
alter table omicron.runners add column launched_at timestamptz;
