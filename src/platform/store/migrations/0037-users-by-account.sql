-- An email address is unique in its account, no longer in the whole installation: whoever invites somebody learns nothing of other accounts.
-- The column was declared unique, so the table is made anew, with those that refer to it.
alter table recovery_code rename to old_recovery_code;
alter table passkey rename to old_passkey;
alter table user_session rename to old_user_session;
alter table account_user rename to old_account_user;

create table account_user (
  id text primary key,
  account_id text not null references account (id),
  email text not null, -- lower case
  role text not null, -- owner, admin, member, viewer
  operator bigint not null,
  password text, -- algorithm, parameters, salt and hash; null until the invitation is taken
  invitation_digest text unique, -- SHA-256 of the token of an open invitation, hex
  invitation_expires_at bigint,
  totp_secret blob, -- sealed with the key file; null where there is no second factor
  totp_step bigint not null default 0, -- the last time step a code was taken of
  totp_pending blob, -- a secret that is not confirmed yet, sealed
  created_at bigint not null,
  last_login_at bigint,
  unique (account_id, email)
);
insert into account_user (id, account_id, email, role, operator, password, invitation_digest, invitation_expires_at, totp_secret, totp_step,
    totp_pending, created_at, last_login_at)
  select id, account_id, email, role, operator, password, invitation_digest, invitation_expires_at, totp_secret, totp_step,
    totp_pending, created_at, last_login_at from old_account_user;

create table recovery_code (
  user_id text not null references account_user (id),
  digest text not null, -- SHA-256, hex
  primary key (user_id, digest)
);
insert into recovery_code (user_id, digest) select user_id, digest from old_recovery_code;
drop table old_recovery_code;

create table user_session (
  id text primary key,
  user_id text not null references account_user (id),
  digest text not null unique, -- SHA-256 of the cookie, hex
  address text not null, -- of the client that logged in
  user_agent text not null,
  created_at bigint not null,
  last_seen_at bigint not null
);
insert into user_session (id, user_id, digest, address, user_agent, created_at, last_seen_at)
  select id, user_id, digest, address, user_agent, created_at, last_seen_at from old_user_session;
drop table old_user_session;
create index user_session_user on user_session (user_id);

create table passkey (
  id text primary key,
  user_id text not null references account_user (id),
  credential_id text not null unique, -- as the authenticator names it, base64url
  public_key blob not null, -- COSE
  counter bigint not null, -- of its signatures; 0 where the authenticator counts none
  transports text not null, -- how browsers reach it, comma
  name text not null, -- that its user gave it
  created_at bigint not null,
  last_used_at bigint
);
insert into passkey (id, user_id, credential_id, public_key, counter, transports, name, created_at, last_used_at)
  select id, user_id, credential_id, public_key, counter, transports, name, created_at, last_used_at from old_passkey;
drop table old_passkey;
create index passkey_user on passkey (user_id);

drop table old_account_user;
