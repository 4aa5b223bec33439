-- The number of the last group of batches that this node has committed, where several nodes share a database.
alter table node add column group_no bigint not null default 0;
