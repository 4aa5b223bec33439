-- Copies of the database from which this one comes: a backup adds a row to its copy, so that whoever opens the copy knows what it is.
create table if not exists copied (
  copied_at bigint not null, -- outcomes since then may be missing
  is_held bigint not null -- 1 once the mail that was queued in the copy is held
);

-- held: 1 while an operator holds it, 2 while it is held because the database was restored
drop index recipient_held;
create index recipient_held on recipient (destination) where held > 0;
create index recipient_restored on recipient (id) where held = 2;
