-- What an account or a domain has in place of what its plan says.
create table mail_quota (
  owner_id text primary key, -- acc_… or dom_…
  day_limit bigint, -- recipients; null: as the plan says, -1: no limit
  month_limit bigint
);

-- How many recipients of live mail were accepted; the calendar is that of UTC.
create table mail_usage (
  owner_id text primary key, -- acc_… or dom_…
  day bigint not null, -- since 1970-01-01
  day_recipients bigint not null,
  month bigint not null, -- since 1970-01
  month_recipients bigint not null
);
