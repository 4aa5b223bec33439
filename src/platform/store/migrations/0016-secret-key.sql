-- Which key file the secrets of this database are sealed with, told by what is derived from its key; at most one row.
create table secret_key (
  fingerprint text primary key
);
