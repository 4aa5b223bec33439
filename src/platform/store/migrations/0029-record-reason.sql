-- Why a record of a domain is not as wanted; null where it is.
alter table domain_record add column reason text; -- missing, differs, several, doubled_name, unreachable
update domain_record set reason = case when found is null then 'missing' else 'differs' end where status not in ('verified', 'not_started');
