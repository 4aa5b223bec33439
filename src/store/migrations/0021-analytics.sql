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
  breakdown text not null, -- provider
  span bigint not null,
  start bigint not null,
  value text not null,
  domain_id text not null,
  b00 bigint not null, b01 bigint not null, b02 bigint not null, b03 bigint not null, b04 bigint not null, b05 bigint not null,
  b06 bigint not null, b07 bigint not null, b08 bigint not null, b09 bigint not null, b10 bigint not null, b11 bigint not null,
  b12 bigint not null, b13 bigint not null, b14 bigint not null, b15 bigint not null, b16 bigint not null, b17 bigint not null,
  b18 bigint not null, b19 bigint not null, b20 bigint not null, b21 bigint not null, b22 bigint not null, b23 bigint not null,
  b24 bigint not null, b25 bigint not null, b26 bigint not null, b27 bigint not null, b28 bigint not null, b29 bigint not null,
  b30 bigint not null, b31 bigint not null, b32 bigint not null, b33 bigint not null, b34 bigint not null, b35 bigint not null,
  b36 bigint not null, b37 bigint not null, b38 bigint not null, b39 bigint not null, b40 bigint not null, b41 bigint not null,
  b42 bigint not null, b43 bigint not null, b44 bigint not null, b45 bigint not null, b46 bigint not null, b47 bigint not null,
  b48 bigint not null, b49 bigint not null, b50 bigint not null, b51 bigint not null, b52 bigint not null, b53 bigint not null,
  b54 bigint not null, b55 bigint not null, b56 bigint not null, b57 bigint not null, b58 bigint not null, b59 bigint not null,
  b60 bigint not null, b61 bigint not null, b62 bigint not null, b63 bigint not null, b64 bigint not null, b65 bigint not null,
  b66 bigint not null, b67 bigint not null, b68 bigint not null,
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
