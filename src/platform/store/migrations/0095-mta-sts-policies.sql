-- The MTA-STS policies of recipient domains.
create table mta_sts_policy (
  domain         text primary key,
  announced_id   text, -- by the DNS, when the policy was fetched
  mode           text, -- null: none could be fetched yet
  mx             text, -- separated by spaces
  max_age_ms     bigint,
  fetched_at     bigint,
  tried_at       bigint not null,
  fault          text, -- of the last try
  fault_type     text,
  used_at        bigint not null,
  fetching_until bigint
);
