-- 0 for a command, which is a node for as long as it runs, and serves nobody.
alter table node add column serves bigint not null default 1;
