-- Hosts that relay mail, beside the one of the settings.
create table smarthost (
  id         text primary key,
  name       text not null unique,
  host       text not null,
  port       bigint not null,
  tls        text not null,
  verify     bigint not null,
  login      blob, -- JSON, sealed; null: none
  sender     text, -- the envelope sender of all mail by it; null: that of each message
  created_at bigint not null,
  updated_at bigint not null,
  revision   bigint not null
);
-- Which mail goes by which smarthost.
create table smarthost_route (
  id               text primary key,
  conditions       text not null unique, -- the four that follow, as one text
  account_id       text, -- null, like those that follow: any
  sending_domain   text,
  recipient_domain text,
  provider         text,
  via              text not null, -- the name of a smarthost, or `direct`
  created_at       bigint not null,
  revision         bigint not null
);
