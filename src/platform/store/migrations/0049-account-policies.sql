-- What an account or a domain has in place of the settings, in one place: quotas, the suppression policy, delivery notices.
create table account_policy (
  owner_id text not null, -- acc_… or dom_…
  field text not null, -- as in files: quota.day
  value text not null, -- JSON
  since bigint not null, -- the newest event when it got this value
  primary key (owner_id, field)
);

insert into account_policy (owner_id, field, value, since)
select owner_id, 'quota.day', case when day_limit < 0 then '"unlimited"' else '' || day_limit end, 0
  from mail_quota where day_limit is not null
union all
select owner_id, 'quota.month', case when month_limit < 0 then '"unlimited"' else '' || month_limit end, 0
  from mail_quota where month_limit is not null
union all
select id, 'suppression_policy.hard_bounces', case when suppress_hard_bounces = 0 then 'false' else 'true' end, 0
  from account where suppress_hard_bounces is not null and status <> 'deleted'
union all
select id, 'suppression_policy.complaints', case when suppress_complaints = 0 then 'false' else 'true' end, 0
  from account where suppress_complaints is not null and status <> 'deleted'
union all
select id, 'suppression_policy.soft_bounces', '' || suppress_soft_bounces, 0
  from account where suppress_soft_bounces is not null and status <> 'deleted'
union all
select id, 'suppression_policy.expiry', '' || suppression_expiry, 0
  from account where suppression_expiry is not null and status <> 'deleted'
union all
select id, 'delivery_notices', 'true', notices_after
  from account where notices_after is not null and status <> 'deleted';

drop table mail_quota;
alter table account drop column suppress_hard_bounces;
alter table account drop column suppress_complaints;
alter table account drop column suppress_soft_bounces;
alter table account drop column suppression_expiry;
alter table account drop column notices_after;
