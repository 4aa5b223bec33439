-- Who carries the request out; null once its answer is there.
alter table idempotency add column owner text;
