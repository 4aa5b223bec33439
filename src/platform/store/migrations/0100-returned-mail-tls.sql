-- 1: it came with REQUIRETLS, so it is forwarded with it alone. Null: it did not.
alter table returned_mail add column require_tls bigint;
