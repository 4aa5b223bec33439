-- The processes that may have claims. A claim of anybody else was left by a crash.
create table node (
  name       text primary key,
  started_at bigint not null
);

-- Who attempts the delivery; null if nobody does.
alter table webhook_delivery add column owner text;
