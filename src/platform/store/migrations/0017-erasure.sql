-- Addresses that were to be forgotten, and what was done about each.
create table erasure (
  id text primary key,
  account_id text, -- whose data; null: everybody's
  sandbox bigint not null, -- 1: that of the sandbox alone
  address blob, -- sealed with the key file; null once it is done
  counts text not null, -- JSON {name: rows}, what was forgotten
  created_at bigint not null,
  finished_at bigint
);
create index erasure_open on erasure (id) where finished_at is null;

-- Content that names somebody who was erased, of messages that others still wait for: it goes when nobody does any more.
create table content_to_erase (
  message_id text primary key
);
