-- The account of the server's own mail. No account is given this id or this status, so it has no keys and is in no list.
insert into account (id, name, plan, status, created_at)
values ('acc_00000000000000000000000000', 'acc_00000000000000000000000000', 'none', 'system', 0);

-- Notices to those who submitted by SMTP tell of events after this seq; null: there are none.
alter table account add column notices_after bigint;

-- What a submitter is told of a recipient, each once; a row stands before or with its notice, never after it.
create table notice (
  recipient_id text not null,
  action text not null, -- failed, delayed, delivered, relayed (RFC 3464)
  message_id text not null, -- of the mail that it is about
  due_at bigint, -- of a warning that waits; null once it is settled
  notice_message_id text, -- the message that it went out as
  primary key (recipient_id, action)
);
create index notice_message on notice (message_id);
create index notice_due on notice (due_at) where due_at is not null;
