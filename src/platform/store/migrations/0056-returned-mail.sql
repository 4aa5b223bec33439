alter table incoming_report rename to returned_mail;
alter table incoming_content rename to returned_mail_content;

-- Who handles it; null if nobody does.
alter table returned_mail add column owner text;
-- When it is to be handled, or handled again; null once it is settled.
alter table returned_mail add column due_at bigint;
-- How often it was handled in vain.
alter table returned_mail add column retries bigint not null default 0;
update returned_mail set due_at = received_at where state = 'received';

drop index incoming_report_by_network;
drop index incoming_report_by_account;
create index returned_mail_by_network on returned_mail (purpose, network, owner, due_at, id) where state = 'received';
create index returned_mail_by_account on returned_mail (purpose, token_account, owner, due_at, id) where state = 'received';
create index returned_mail_owned on returned_mail (owner) where owner is not null;

drop index incoming_report_content;
drop index incoming_report_account;
drop index incoming_report_listed;
drop index incoming_report_message;
drop index incoming_content_age;
create index returned_mail_content_id on returned_mail (content_id);
create index returned_mail_account on returned_mail (account_id, id, purpose, result);
create index returned_mail_listed on returned_mail (id, purpose, result);
create index returned_mail_message on returned_mail (message_id);
create index returned_mail_content_age on returned_mail_content (box, id, cost);
