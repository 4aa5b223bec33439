-- Webhooks in the shape of another service; both are sealed with the key file.
alter table webhook add column signing_key blob; -- PKCS 8; null where the shape is not signed with a key of its own
alter table webhook add column basic_auth blob; -- JSON {username, password}; null for none
