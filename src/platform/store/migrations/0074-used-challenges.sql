-- Challenges for passkeys that were answered, until they expire: none works twice.
create table used_challenge (
  id text primary key,
  expires_at bigint not null
);
