-- Seconds, where the submitter said how long the message is of use: it never leaves after its recipients' expires_at. Null:
-- they are given up as the settings say, and what was not tried since it was due is tried once more then.
alter table message add column expires_in bigint;
