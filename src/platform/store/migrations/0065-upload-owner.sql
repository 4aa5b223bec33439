-- Who takes the email in. What an owner that is gone has left is swept.
alter table upload add column owner text;
