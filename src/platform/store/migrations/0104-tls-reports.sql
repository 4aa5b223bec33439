-- Sessions over SMTP that reports on TLS count, by what they have in common.
create table tls_session (
  id             text primary key, -- digest of all columns but reason and sessions
  day            bigint not null,  -- UTC, days since 1970
  domain         text not null,    -- of the recipients
  policy         text not null,    -- JSON: what the domain has published
  failure        text,             -- null: none, and then the columns below are null too
  mx_host        text,
  address        text,
  source_address text,             -- ours
  reason         text,             -- of the first of them
  sessions       bigint not null
);
create index tls_session_day on tls_session (day, domain);

-- Reports that we owe, or have sent, to domains that ask for them.
create table tls_report (
  id           text primary key,
  day          bigint not null,
  domain       text not null,
  state        text not null,    -- due, sent, failed
  due_at       bigint,           -- null unless due
  first_at     bigint,           -- when it was first tried
  tries        bigint not null,
  report       text,             -- JSON as it is sent; null until it is first tried
  destinations text,             -- JSON: where to, and what became of it there
  sessions     bigint not null,
  failures     bigint not null,
  unique (day, domain)
);
create index tls_report_due on tls_report (due_at) where due_at is not null;
