-- How often they were changed: who decides from what it holds in memory writes only if that is still so.
alter table api_key add column revision bigint not null default 0;
alter table webhook add column revision bigint not null default 0;
alter table domain add column revision bigint not null default 0;
