-- How often each was changed. A change is written only if this is still the number that it was decided from.
alter table api_key add column revision bigint not null default 0;
alter table webhook add column revision bigint not null default 0;
alter table domain add column revision bigint not null default 0;
