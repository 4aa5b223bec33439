-- Where `sterna store copy` has copied this database to: no server starts on it any more. At most one row.
create table store_copy (
  target text not null, -- without a password
  copied_at bigint not null
);
