-- Of deliveries that are due at the same time, every database takes the same ones first.
drop index webhook_delivery_due;
create index webhook_delivery_due on webhook_delivery (webhook_id, next_attempt_at, id) where next_attempt_at is not null;
