-- A row for each recipient of mail that came in by the return path.
create table incoming_report (
  id text primary key,
  received_at bigint not null,
  purpose text not null, -- bounce, complaint, unsubscribe, dmarc_report, tls_report, postmaster, abuse
  recipient_id text, -- of whom the token in its address is; null where its address has none
  reverse_path text, -- as given; null: the null reverse-path
  forward_path text not null, -- as given
  remote_address text not null,
  ehlo_name text not null,
  tls bigint not null, -- 1 where it came in over TLS
  size bigint not null, -- bytes
  content_id text not null, -- recipients of one message share its content
  state text not null, -- received, done
  result text, -- what came of it, once it is done
  account_id text,
  message_id text, -- of the message it is about, once that is known
  summary text, -- JSON, what it says
  settled_at bigint
);
create index incoming_report_waiting on incoming_report (id) where state = 'received';
create index incoming_report_content on incoming_report (content_id);
create index incoming_report_account on incoming_report (account_id, id);

create table incoming_content (
  id text primary key, -- that of the first report it came with
  box text not null, -- proved: every address it came to has a token of ours; open: anybody can know them
  cost bigint not null, -- bytes it counts for
  bytes blob not null
);
create index incoming_content_cost on incoming_content (box, cost);
