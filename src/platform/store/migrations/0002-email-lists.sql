-- Lists of emails, by an index where that costs nothing for the mail that goes its usual way. There is none by
-- recipient or author: each would cost a twentieth to a tenth of all work for a message.
drop index message_account;
create index message_account on message (account_id, sandbox, id);
-- Nearly all recipients are delivered to at once, and never come into this index.
create index recipient_state on recipient (account_id, state, message_id) where state not in ('queued', 'delivered');

-- The address in From, in lower case; the first one where there are several.
alter table message add column author text;

-- Tags are looked for within an account.
create temporary table old_tag as select * from message_tag;
drop table message_tag;
create table message_tag (
  account_id text not null,
  name text not null,
  value text not null,
  message_id text not null references message (id),
  primary key (account_id, name, value, message_id)
);
insert into message_tag (account_id, name, value, message_id)
  select m.account_id, t.name, t.value, t.message_id from old_tag t join message m on m.id = t.message_id;
drop table old_tag;
