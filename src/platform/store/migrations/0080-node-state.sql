-- What each node knows of itself, for the others. A setting is null in the row of a program that did not tell it.
alter table node add column mode text;
alter table node add column hostname text;
alter table node add column base_url text;
alter table node add column return_path_domain text;
-- The name of its machine.
alter table node add column machine text not null default '';
-- When it last said that it lives; epoch, ms.
alter table node add column heard_at bigint not null default 0;
-- The addresses that its mail leaves from, and its faults, as JSON.
alter table node add column addresses text not null default '[]';
alter table node add column faults text not null default '[]';
