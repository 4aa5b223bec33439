-- What is in hand is found by its owner.
update webhook_delivery set owner = 'node_before' where state = 'attempting' and owner is null;
drop index webhook_delivery_attempting;
create index webhook_delivery_owned on webhook_delivery (webhook_id, owner) where owner is not null;
