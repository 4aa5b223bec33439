-- The address of ours that an attempt connected from, where one is set; null where the system chose it.
alter table attempt add column source_address text;
