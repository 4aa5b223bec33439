alter table suppression add column expires_at bigint; -- from then on it counts no more; null: never
create index suppression_expires on suppression (expires_at) where expires_at is not null;

-- What an account has chosen in place of the settings; null: as they say.
alter table account add column suppress_hard_bounces bigint;
alter table account add column suppress_complaints bigint;
alter table account add column suppress_soft_bounces bigint;
alter table account add column suppression_expiry bigint; -- ms; 0: never

-- Final failures of the soft kind since the last delivery, where they are to lead to a suppression.
create table soft_bounce (
  account_id text not null,
  address text not null, -- lower case
  sandbox bigint not null,
  bounces bigint not null,
  bounces_before bigint not null, -- before the last delivery, which a report may take back
  delivered_to text, -- of that delivery, a recipient id
  changed_at bigint not null,
  primary key (account_id, address, sandbox)
);
create index soft_bounce_changed on soft_bounce (changed_at);

create index incoming_report_message on incoming_report (message_id);
