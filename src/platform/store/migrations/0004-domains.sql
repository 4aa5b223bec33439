-- A removed domain gives its name free at once (`name` becomes its id), and stays for the mail that was accepted from it.
alter table domain add column removed_at bigint;
alter table domain add column removed_name text;
alter table domain add column subdomains bigint not null default 1; -- 0: From addresses below it are not covered
alter table domain add column tracking_subdomain text; -- a label under the domain

-- next: published first, signs once it is seen; active; retired: signs no more, its record is kept a while.
alter table dkim_key add column state text not null default 'active';
alter table dkim_key add column keep_until bigint; -- of a retired key
