-- Certificates that we made or an authority issued to us, for all nodes: one for each name, and that which we sign ourselves.
create table certificate (
  id        text primary key, -- the authority and the name, or `self-signed`
  authority text not null, -- its host; empty: ourselves
  name      text not null,
  chain     text not null, -- PEM
  key       blob not null, -- PEM, sealed with the key file
  made_at   bigint not null
);

-- What we are to each authority.
create table acme (
  authority text primary key, -- its host
  account   blob, -- JSON with the key of our account, sealed with the key file
  attempts  text not null default '' -- JSON: what limits the attempts
);

-- What proves to an authority that a name is ours, while it looks. Any node may be asked.
create table acme_answer (
  token             text primary key,
  type              text not null, -- http-01, tls-alpn-01
  name              text not null,
  key_authorization text not null, -- no secret: whoever asks gets it
  expires_at        bigint not null
);
