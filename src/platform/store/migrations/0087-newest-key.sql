-- Names the newest key of a node's key file: a new key seals and signs once all nodes have it. Null in the row of a program that did not tell it.
alter table node add column newest_key text;
