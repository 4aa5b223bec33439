-- What others report about domains: DMARC aggregate reports and TLS reports. Nothing in them is proved.
create table domain_report (
  id text primary key,
  kind text not null, -- dmarc, tls
  domain text not null, -- what is reported about; accounts that have it verified see it
  reporter text not null, -- as it calls itself
  contact text,
  report_id text not null, -- the reporter's
  begin_at bigint not null,
  end_at bigint not null,
  policy text, -- dmarc: none, quarantine, reject
  total bigint not null, -- messages, or sessions
  failed bigint not null, -- those of them that did not pass
  row_count bigint not null, -- rows that are kept
  rows_left_out bigint not null,
  reverse_path text, -- of the mail that brought it, as given
  remote_address text not null, -- of the host that handed it over
  received_at bigint not null,
  unique (domain, kind, reporter, report_id)
);
create index domain_report_domain on domain_report (domain, id);

create table dmarc_row (
  report_id text not null, -- domain_report
  place bigint not null,
  source_ip text not null,
  messages bigint not null,
  disposition text not null, -- none, quarantine, reject
  dkim_aligned bigint not null,
  spf_aligned bigint not null,
  overrides text not null, -- why the receiver did not apply the policy
  header_from text not null,
  envelope_from text,
  dkim text not null, -- 'pass example.com s1, fail example.net s2'
  spf text not null,
  signed_here bigint not null, -- 1 where a signature, good or broken, has a selector of ours
  primary key (report_id, place)
);

create table tls_row (
  report_id text not null, -- domain_report
  place bigint not null,
  policy_type text not null, -- sts, tlsa, no-policy-found
  result_type text not null, -- success, or as RFC 8460 4.3 has it
  sessions bigint not null,
  sending_mta text,
  receiving_mx text,
  receiving_ip text,
  reason text,
  primary key (report_id, place)
);
