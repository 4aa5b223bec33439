-- HTML that somebody is about to look at, for a minute. Each is sealed with a key that only its link has.
create table preview (
  id text primary key,
  digest text not null unique, -- SHA-256 of the token in the link, hex
  holder_id text not null, -- the user or the key that it is for
  size bigint not null, -- bytes
  pictures bigint not null, -- 1: it may load them from the web
  expires_at bigint not null,
  html blob not null
);
