-- Of several nodes that start at once on a new database, only one can say which key file it belongs to.
create unique index secret_key_one on secret_key ((fingerprint is not null));
