-- What was changed of that which every node holds in memory: an entry is written in the batch of its change.
create table change_log (
  seq  bigint primary key,
  kind text not null,
  id   text not null
);

-- The newest entry, also of those that are trimmed; one row. Whoever writes an entry locks it, so entries have the order of their commits.
create table change_order (last bigint not null);
insert into change_order (last) values (0);

-- Up to which entry a node has read.
alter table node add column changes_seen bigint not null default 0;
