-- Accounts whose mail bounces, or is complained about, too often: the server slows them, then suspends them.
alter table account add column slowed_until bigint; -- epoch ms; null: it was not slowed
alter table account add column harm text; -- why the server slowed or suspended it; null: it did neither

-- Who hard bounced or complained within the last day, each once however often.
create table account_harm (
  account_id text not null,
  kind text not null, -- hard_bounce, complaint
  address text not null,
  happened_at bigint not null, -- epoch ms
  primary key (account_id, kind, address)
) without rowid;
