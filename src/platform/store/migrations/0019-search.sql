-- What emails are searched by. Filled behind the event log, many at a time: its entries lie all over, so in the batch of every
-- message they would cost a tenth of all work.
create table search_term (
  part bigint not null, -- search_part
  account_id text not null,
  sandbox bigint not null,
  term text not null, -- to:ADDRESS and from:ADDRESS in lower case, domain:ID, delivered
  message_id text not null,
  primary key (part, account_id, sandbox, term, message_id)
) without rowid;

-- Which part of search_term has the terms of a message: that with the last start that is not behind its id. What is written together
-- lies in one part, which is small enough to be written well, and a search looks into each.
create table search_part (
  start text primary key,
  part bigint not null
);
insert into search_part (start, part) values ('', 0);

-- The pieces of the log in which an account has public events of a type. Filled with search_term.
create table event_block (
  account_id text not null,
  sandbox bigint not null,
  type text not null,
  block bigint not null, -- of 1,024 places in the log
  oldest bigint not null, -- of their times, epoch ms
  newest bigint not null,
  primary key (account_id, sandbox, type, block)
) without rowid;
create index event_block_block on event_block (block);

-- Messages that are older than all of the log: nothing in it tells of them any more.
insert into search_term (part, account_id, sandbox, term, message_id)
select 0, m.account_id, m.sandbox,
       case k.kind when 1 then 'to:' || lower(r.forward_path) when 2 then 'from:' || m.author when 3 then 'domain:' || m.domain_id else 'delivered' end,
       m.id
  from message m join recipient r on r.message_id = m.id
       cross join (select 1 as kind union all select 2 union all select 3 union all select 4) k
 where m.id < coalesce((select 'em_' || substr(min(id), 5) from event), 'em_~')
   and (k.kind = 1 or (k.kind = 2 and m.author is not null) or (k.kind = 3 and m.domain_id is not null) or (k.kind = 4 and r.state = 'delivered'))
on conflict (part, account_id, sandbox, term, message_id) do nothing;

-- What waits in the queue, by account. Mail that goes its usual way is in the hands of the process from the start, and never comes
-- into this index.
create index recipient_queued on recipient (account_id, message_id, state, owner) where state = 'queued' and owner is null;

-- Deliveries of the usual types that succeed never come into these.
create index webhook_delivery_state on webhook_delivery (webhook_id, state, id) where state in ('failed', 'canceled');
create index webhook_delivery_state_event on webhook_delivery (webhook_id, state, event_id) where state in ('failed', 'canceled');
create index webhook_delivery_type on webhook_delivery (webhook_id, event_type, id) where event_type not in ('email.sent', 'email.delivered');
create index webhook_delivery_type_event on webhook_delivery (webhook_id, event_type, event_id) where event_type not in ('email.sent', 'email.delivered');

-- What these lists are narrowed by is read from the index alone.
drop index suppression_listed;
create index suppression_listed on suppression (account_id, sandbox, id, origin, expires_at);
drop index incoming_report_account;
create index incoming_report_account on incoming_report (account_id, id, purpose, result);
create index incoming_report_listed on incoming_report (id, purpose, result);
