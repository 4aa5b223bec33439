-- Since when the DNS has said that there is nowhere to bring a recipient's mail; null where it did not at the last attempt.
alter table recipient add column absent_since bigint;

-- What the DNS alone said suppresses nobody any more: these entries rest on nothing else.
delete from suppression
 where origin = 'bounce' and (reason like '5.1.2 the domain % does not exist' or reason like '5.1.10 the domain % takes no mail (null MX)');
