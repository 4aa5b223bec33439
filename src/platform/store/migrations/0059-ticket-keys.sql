-- What TLS session tickets are encrypted with: a new key each day, which the day after still decrypts.
create table ticket_key (
  id text primary key,
  key blob not null, -- sealed with the key file
  made_at bigint not null
);
