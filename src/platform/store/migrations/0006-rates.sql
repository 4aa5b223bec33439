-- The requests of the last minute, an account a row: what the limit of its plan is counted from after a restart.
create table rate_window (
  account_id text primary key,
  first_at bigint not null, -- epoch ms of the oldest
  gaps blob not null -- ms from each to the next, as variable-length integers
);

-- What became of live mail, counted from the event log; a row for every quarter of an hour in which something happened.
create table rollup (
  account_id text not null,
  tag text not null, -- name=value, or '' for the counts of all mail, tagged or not
  quarter bigint not null, -- epoch ms of its beginning
  domain_id text not null, -- '' where the message had none
  sent bigint not null,
  delivered bigint not null,
  opened bigint not null,
  clicked bigint not null,
  bounced_permanent bigint not null,
  bounced_transient bigint not null,
  complained bigint not null,
  unsubscribed bigint not null,
  suppressed bigint not null,
  failed bigint not null,
  delivery_delayed bigint not null,
  unique_opened bigint not null,
  unique_clicked bigint not null,
  primary key (account_id, tag, quarter, domain_id)
);
create index message_tag_message on message_tag (message_id);
create index recipient_held on recipient (destination) where held = 1;
create index suppression_address on suppression (address);
