-- Credentials of WebAuthn, with which users log in without a password.
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
create index passkey_user on passkey (user_id);
