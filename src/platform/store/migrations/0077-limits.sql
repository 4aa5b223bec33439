-- What was done of which only so much is allowed in a time: attempts to log in, mail for a new password.
create table counted_use (
  id text primary key,
  key text not null, -- digest of the limit's name and of whom it counts
  expires_at bigint not null -- counts until then; epoch ms
);
create index counted_use_key on counted_use (key, expires_at);
create index counted_use_expiry on counted_use (expires_at);

-- Locked by whoever decides on a limit, where several write at a time; one row for many limits.
create table limit_lock (place bigint primary key);
