alter table domain add column open_tracking bigint not null default 0;
alter table domain add column click_tracking bigint not null default 0;
alter table domain add column app_links text; -- JSON: what its tracking host answers below /.well-known, by file

alter table message add column tracking text; -- of opens, clicks, anonymous what is on; null: neither opens nor clicks

alter table webhook add column include_bots bigint not null default 0;

-- What readers did, as it was seen; their events are written once it has settled what was a machine.
create table hit (
  id text primary key,
  message_id text not null,
  recipient_id text not null,
  type text not null, -- open, click
  link text, -- of a click: where it led
  ip_address text, -- as it is kept: cut off, or not at all
  user_agent text,
  bot bigint not null,
  bot_reason text,
  bot_confidence bigint not null, -- hundredths
  happened_at bigint not null,
  event_id text -- null until it has settled
);
create index hit_recipient on hit (recipient_id);
create index hit_unsettled on hit (happened_at) where event_id is null;
