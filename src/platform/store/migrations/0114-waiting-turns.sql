-- The mail of each account at a destination takes turns, and what is urgent (1) goes ahead of all.
alter table recipient add column urgent bigint not null default 0;
drop index recipient_due;
create index recipient_due on recipient (destination, account_id, urgent, due_at) where due_at is not null and owner is null and held = 0;
