-- Who works on it; null if nobody does.
alter table erasure add column owner text;
