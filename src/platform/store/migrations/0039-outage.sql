-- The last time that the server was off or asleep, or that its clock skipped: at most one row.
create table outage (
  missed_ms bigint not null,
  ended_at bigint not null,
  answered_at bigint -- when a mail host first answered since then; null: none has
);
