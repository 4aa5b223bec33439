-- Who takes the email in. Of a crash are left those that nobody has who is there.
alter table upload add column owner text;
