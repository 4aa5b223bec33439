-- Where the database was last open, so that a copy of its files is told from them, and a cloned machine from this one; at most one row.
create table last_place (
  id bigint primary key, -- always 1
  lock_file text not null, -- what tells the file from its copies
  database_file text not null,
  machine text, -- a digest; null until a server has started here
  addresses text -- of the machine, with spaces between them
);

-- 0: restored from a backup; 1: the files were copied or moved
alter table copied add column by_files bigint not null default 0;
