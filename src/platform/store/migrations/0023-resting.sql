-- What waits for a destination by the end of its time: it is given up then, though its destination rests.
create index recipient_expiry on recipient (destination, expires_at) where due_at is not null and owner is null and held = 0;
