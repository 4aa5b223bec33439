-- The sandbox key that the first start prints, and with it the log of that start, works until there is a key for real mail.
alter table api_key add column printed bigint not null default 0;
update api_key set printed = 1 where name = 'first start' and sandbox = 1;
