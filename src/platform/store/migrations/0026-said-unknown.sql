-- When mail to the address first failed, on the last two days that it did, because words alone called it unknown, epoch ms; null: not,
-- or not since it was suppressed for it.
alter table soft_bounce add column unknown_at bigint;
alter table soft_bounce add column unknown_before bigint;
