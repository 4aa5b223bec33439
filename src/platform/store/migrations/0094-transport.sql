-- How mail travelled to the host that took it: 1 over TLS, 0 in plain text; null before this version, and without a host.
alter table recipient add column encrypted bigint;

alter table rollup add column delivered_encrypted bigint not null default 0;
alter table rollup add column delivered_unencrypted bigint not null default 0;
