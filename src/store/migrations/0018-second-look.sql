-- Since when the DNS has said that there is nowhere to bring a recipient's mail; null where it did not at the last attempt.
alter table recipient add column absent_since bigint;
