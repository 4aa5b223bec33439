create table account (
  id text primary key,
  name text not null unique,
  plan text not null,
  status text not null, -- active, suspended
  created_at bigint not null
);

create table api_key (
  id text primary key,
  account_id text not null references account (id),
  name text not null,
  permission text not null, -- full_access, sending_access, read_access, operator
  domain_id text,
  sandbox bigint not null,
  prefix text not null, -- the first characters of the key, for people
  digest text not null unique, -- SHA-256 of the whole key, hex
  created_at bigint not null,
  last_used_at bigint,
  expires_at bigint,
  revoked_at bigint
);

create table domain (
  id text primary key,
  account_id text not null references account (id),
  name text not null, -- A-labels, lower case
  status text not null, -- not_started, pending, verified, failed
  return_path_label text not null, -- the reverse-path is at this label under the domain
  return_path_seen bigint not null, -- 1 while its MX and SPF records are found
  tls text not null, -- opportunistic, enforced
  checked_at bigint,
  verified_at bigint,
  missing_since bigint, -- since when a required record has been missing
  created_at bigint not null,
  unique (account_id, name)
);

-- What was found in the DNS at the last check, a row a record to publish.
create table domain_record (
  domain_id text not null references domain (id),
  kind text not null, -- dkim-rsa, dkim-ed25519, return-path-mx, return-path-spf, dmarc
  status text not null, -- not_started, pending, verified, failed, temporary_failure
  found text,
  checked_at bigint not null,
  primary key (domain_id, kind)
);

create table dkim_key (
  id text primary key,
  domain_id text not null references domain (id),
  selector text not null,
  algorithm text not null, -- rsa-sha256, ed25519-sha256
  public_key text not null, -- base64, as in p=
  private_key blob not null, -- PKCS #8 DER, sealed with the key file
  seen_at bigint, -- when its record was last found; an Ed25519 key signs only once it is seen
  created_at bigint not null,
  unique (domain_id, selector)
);

create table message (
  id text primary key,
  account_id text not null references account (id),
  domain_id text, -- null in the sandbox
  source text not null, -- api, smtp, compat
  sandbox bigint not null,
  reverse_path text, -- as the submitter gave it; null over HTTP and for <>
  header_from text not null, -- the whole field value, decoded
  header_to text not null, -- JSON arrays of field values, decoded
  header_cc text not null,
  reply_to text not null,
  subject text not null, -- decoded
  message_id_header text not null, -- with its angle brackets
  size bigint not null, -- bytes of content
  body_type text not null, -- 7bit, 8bitmime
  smtputf8 bigint not null, -- 1 where a header field or an address needs RFC 6531
  envid text, -- of the submitter's MAIL FROM (RFC 3461)
  ret text, -- full, hdrs
  tags text not null, -- JSON [{name, value}]
  metadata text not null, -- JSON {name: value}
  scheduled_at bigint,
  created_at bigint not null
);
create index message_account on message (account_id, id);

create table message_tag (
  message_id text not null references message (id),
  name text not null,
  value text not null,
  primary key (name, value, message_id)
);

-- Messages whose first chunks are stored while the rest still arrives; what is left here at a start was never completed.
create table upload (
  message_id text primary key
);

-- The bytes to be delivered, in chunks of 256 KiB.
create table content (
  message_id text not null,
  chunk bigint not null,
  bytes blob not null,
  primary key (message_id, chunk)
);

create table recipient (
  id text primary key,
  message_id text not null references message (id),
  account_id text not null,
  forward_path text not null,
  destination text not null, -- domain of the forward-path, A-labels, lower case
  type text not null, -- to, cc, bcc
  notify text, -- RFC 3461, as the submitter gave them
  orcpt text,
  state text not null, -- scheduled, queued, sent, deferred, delivered, bounced, complained, suppressed, failed, canceled
  due_at bigint, -- null once final
  owner text, -- the boot id of the process that has it in hand
  held bigint not null default 0, -- 1 while an operator holds it
  expires_at bigint not null, -- when it is given up
  attempts bigint not null default 0,
  last_response text,
  smtp_code bigint,
  enhanced_status text,
  sent_at bigint,
  delivered_at bigint,
  bounced_at bigint,
  opened_at bigint,
  open_count bigint not null default 0,
  clicked_at bigint,
  click_count bigint not null default 0,
  complained_at bigint,
  unsubscribed_at bigint
);
create index recipient_message on recipient (message_id);
create index recipient_due on recipient (destination, due_at) where due_at is not null and owner is null and held = 0;
create index recipient_owned on recipient (owner) where owner is not null;

create table attempt (
  id text primary key,
  recipient_id text not null,
  message_id text not null,
  started_at bigint not null,
  duration_ms bigint not null,
  outcome text not null, -- delivered, deferred, bounced
  mx_host text,
  address text,
  tls text, -- JSON {version, cipher, verified, policy}, null for plain text
  selectors text, -- DKIM selectors, comma
  reply text, -- the decisive reply, or what went wrong
  smtp_code bigint,
  enhanced_status text,
  transcript text not null -- JSON [[ms, "c" | "s", line]]
);
create index attempt_message on attempt (message_id);

-- Append-only. Producers write it with the state it describes; readers follow seq from a cursor of their own.
create table event (
  seq integer primary key,
  id text not null unique,
  account_id text not null,
  message_id text not null,
  recipient_id text,
  type text not null,
  sandbox bigint not null,
  created_at bigint not null,
  data text not null -- JSON, exactly what webhooks carry
);
create index event_message on event (message_id);

create table suppression (
  id text primary key,
  account_id text not null,
  address text not null, -- lower case
  origin text not null, -- bounce, complaint, manual, unsubscribe
  topic text not null, -- '' unless origin is unsubscribe
  sandbox bigint not null,
  source_id text, -- message id
  reason text,
  created_at bigint not null,
  unique (account_id, address, origin, topic, sandbox)
);

create table idempotency (
  account_id text not null,
  operation text not null,
  key text not null,
  fingerprint text not null, -- SHA-256, hex
  status bigint not null, -- of the HTTP answer
  response text not null, -- its body
  message_id text,
  expires_at bigint not null,
  primary key (account_id, operation, key)
);
create index idempotency_expires on idempotency (expires_at);

create table webhook (
  id text primary key,
  account_id text not null references account (id),
  url text not null,
  events text not null, -- ',email.sent,email.delivered,'
  description text,
  payload text not null, -- standard, extended
  sandbox bigint not null,
  status text not null, -- enabled, disabled, deleted
  disabled_reason text, -- manual, failures
  secret blob not null, -- sealed with the key file
  previous_secret blob,
  previous_expires_at bigint,
  after_seq bigint not null, -- events up to here are older than the webhook, or than its being enabled again
  failing_since bigint, -- the first failed attempt since the last successful one
  exhausted bigint not null default 0, -- deliveries given up since then
  created_at bigint not null,
  updated_at bigint not null
);
create index webhook_account on webhook (account_id);

create table webhook_delivery (
  id text primary key,
  webhook_id text not null references webhook (id),
  event_id text not null,
  event_type text not null,
  body text not null, -- the bytes that are signed and sent, at every attempt the same
  state text not null, -- pending, attempting, success, failed, canceled
  attempts bigint not null default 0,
  next_attempt_at bigint,
  created_at bigint not null
);
create index webhook_delivery_due on webhook_delivery (webhook_id, next_attempt_at) where next_attempt_at is not null;
create index webhook_delivery_attempting on webhook_delivery (webhook_id) where state = 'attempting';
create index webhook_delivery_event on webhook_delivery (webhook_id, event_id, id);
create index webhook_delivery_webhook on webhook_delivery (webhook_id, id);

create table webhook_attempt (
  id text primary key,
  delivery_id text not null,
  number bigint not null,
  sent_at bigint not null,
  duration_ms bigint not null,
  http_status_code bigint,
  response text, -- the beginning of the body
  error text
);
create index webhook_attempt_delivery on webhook_attempt (delivery_id);

-- How far each reader of the event log has come.
create table cursor (
  name text primary key,
  position bigint not null
);
