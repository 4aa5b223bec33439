-- CRC-32 of the bytes; null for content from before this. It is checked whenever the bytes are read.
alter table content add column crc32 bigint;
