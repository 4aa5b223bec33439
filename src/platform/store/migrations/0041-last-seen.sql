-- When the server last noted that it runs, epoch ms, so that a quiet time is told from an outage.
alter table last_place add column seen_at bigint;
