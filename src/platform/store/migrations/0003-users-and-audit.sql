-- After a rotation the token before it works until the overlap is over.
alter table api_key add column previous_digest text;
alter table api_key add column previous_expires_at bigint;

create table account_user (
  id text primary key,
  account_id text not null references account (id),
  email text not null unique, -- lower case
  role text not null, -- owner, admin, member, viewer
  operator bigint not null,
  password text, -- algorithm, parameters, salt and hash; null until the invitation is taken
  invitation_digest text unique, -- SHA-256 of the token of an open invitation, hex
  invitation_expires_at bigint,
  totp_secret blob, -- sealed with the key file; null where there is no second factor
  totp_step bigint not null default 0, -- the last time step a code was taken of
  totp_pending blob, -- a secret that is not confirmed yet, sealed
  created_at bigint not null,
  last_login_at bigint
);
create index account_user_account on account_user (account_id);

create table recovery_code (
  user_id text not null references account_user (id),
  digest text not null, -- SHA-256, hex
  primary key (user_id, digest)
);

-- At most one row: the link by which the first owner makes himself known.
create table setup_link (
  name text primary key,
  digest text not null, -- SHA-256 of its token, hex
  created_at bigint not null
);

create table user_session (
  id text primary key,
  user_id text not null references account_user (id),
  digest text not null unique, -- SHA-256 of the cookie, hex
  address text not null, -- of the client that logged in
  user_agent text not null,
  created_at bigint not null,
  last_seen_at bigint not null
);
create index user_session_user on user_session (user_id);

-- Append-only: who changed what, and from where.
create table audit (
  id text primary key,
  account_id text, -- of the one who did it; of a command, of the account it was about
  actor_type text not null, -- key, user, command
  actor_id text,
  actor_name text not null,
  operation text not null, -- such as api_keys.create, or a command
  object_id text,
  fields text not null, -- names of what was given, comma
  address text,
  request_id text,
  created_at bigint not null
);
create index audit_account on audit (account_id, id);
