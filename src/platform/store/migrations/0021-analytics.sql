-- Who runs the server of the last attempt, such as google; null before one, where none was reached, and from before this migration.
alter table recipient add column provider text;

-- What became of live mail, counted from the event log: for every quarter of an hour in which something happened, and for every hour
-- and day (UTC), so that a report of long times has few rows to read. A table without rowid lies in the order of its key.
create temporary table old_rollup as select * from rollup;
drop table rollup;
create table rollup (
  account_id text not null,
  breakdown text not null, -- '' for all mail; tag, template, provider, bounce_category
  span bigint not null, -- ms: 900000, 3600000, 86400000
  start bigint not null, -- epoch ms
  value text not null, -- what the breakdown is by: a tag as name=value, the id of a template; (other) where a day has too many
  domain_id text not null, -- '' where the message had none
  sent bigint not null,
  delivered bigint not null,
  opened bigint not null,
  clicked bigint not null,
  bot_opened bigint not null, -- of opened, those by machines; not told apart before this migration
  bot_clicked bigint not null,
  bounced_permanent bigint not null,
  bounced_transient bigint not null,
  complained bigint not null,
  unsubscribed bigint not null,
  suppressed bigint not null,
  failed bigint not null,
  delivery_delayed bigint not null,
  unique_opened bigint not null,
  unique_clicked bigint not null,
  primary key (account_id, breakdown, span, start, value, domain_id)
) without rowid;
insert into rollup
  (account_id, breakdown, span, start, value, domain_id, sent, delivered, opened, clicked, bot_opened, bot_clicked, bounced_permanent,
   bounced_transient, complained, unsubscribed, suppressed, failed, delivery_delayed, unique_opened, unique_clicked)
  select o.account_id, case when o.tag = '' then '' else 'tag' end, k.span, o.quarter / k.span * k.span, o.tag, o.domain_id,
         sum(o.sent), sum(o.delivered), sum(o.opened), sum(o.clicked), 0, 0, sum(o.bounced_permanent),
         sum(o.bounced_transient), sum(o.complained), sum(o.unsubscribed), sum(o.suppressed), sum(o.failed),
         sum(o.delivery_delayed), sum(o.unique_opened), sum(o.unique_clicked)
    from old_rollup o cross join (select 900000 as span union all select 3600000 union all select 86400000) k
   group by o.account_id, o.tag, k.span, o.quarter / k.span * k.span, o.domain_id;
drop table old_rollup;

-- How long mail took from its acceptance, or from when it was to leave, to its delivery: a histogram, whose bounds are in the source
-- (analytics/latency.ts). Keyed as rollup.
create table rollup_latency (
  account_id text not null,
  breakdown text not null, -- '' for all mail; provider
  span bigint not null,
  start bigint not null,
  value text not null,
  domain_id text not null,
  b00 bigint not null default 0, b01 bigint not null default 0, b02 bigint not null default 0, b03 bigint not null default 0,
  b04 bigint not null default 0, b05 bigint not null default 0, b06 bigint not null default 0, b07 bigint not null default 0,
  b08 bigint not null default 0, b09 bigint not null default 0, b10 bigint not null default 0, b11 bigint not null default 0,
  b12 bigint not null default 0, b13 bigint not null default 0, b14 bigint not null default 0, b15 bigint not null default 0,
  b16 bigint not null default 0, b17 bigint not null default 0, b18 bigint not null default 0, b19 bigint not null default 0,
  b20 bigint not null default 0, b21 bigint not null default 0, b22 bigint not null default 0, b23 bigint not null default 0,
  b24 bigint not null default 0, b25 bigint not null default 0, b26 bigint not null default 0, b27 bigint not null default 0,
  b28 bigint not null default 0, b29 bigint not null default 0, b30 bigint not null default 0, b31 bigint not null default 0,
  b32 bigint not null default 0, b33 bigint not null default 0, b34 bigint not null default 0, b35 bigint not null default 0,
  b36 bigint not null default 0, b37 bigint not null default 0, b38 bigint not null default 0, b39 bigint not null default 0,
  b40 bigint not null default 0, b41 bigint not null default 0, b42 bigint not null default 0, b43 bigint not null default 0,
  b44 bigint not null default 0, b45 bigint not null default 0, b46 bigint not null default 0, b47 bigint not null default 0,
  b48 bigint not null default 0, b49 bigint not null default 0, b50 bigint not null default 0, b51 bigint not null default 0,
  b52 bigint not null default 0, b53 bigint not null default 0, b54 bigint not null default 0, b55 bigint not null default 0,
  b56 bigint not null default 0, b57 bigint not null default 0, b58 bigint not null default 0, b59 bigint not null default 0,
  b60 bigint not null default 0, b61 bigint not null default 0, b62 bigint not null default 0, b63 bigint not null default 0,
  b64 bigint not null default 0, b65 bigint not null default 0, b66 bigint not null default 0, b67 bigint not null default 0,
  b68 bigint not null default 0,
  primary key (account_id, breakdown, span, start, value, domain_id)
) without rowid;

-- Clicks on the links of templates, by day (UTC). Links stand here without query and what looks like it is one reader's own.
create table rollup_link (
  account_id text not null,
  template_id text not null,
  start bigint not null, -- epoch ms of the day
  link text not null, -- (other) where a day has too many
  clicked bigint not null,
  bot_clicked bigint not null,
  unique_clicked bigint not null,
  primary key (account_id, template_id, start, link)
) without rowid;
create index rollup_link_start on rollup_link (start);
