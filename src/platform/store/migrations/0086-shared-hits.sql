-- Opens and clicks of the last quarter of an hour, with all that it takes to recognise machines, where several nodes see those of one recipient.
create table shared_hit (
  id text primary key, -- that of the hit, if it is stored
  recipient_id text not null,
  happened_at bigint not null,
  request blob not null -- sealed
);
create index shared_hit_recipient on shared_hit (recipient_id, happened_at);
create index shared_hit_happened on shared_hit (happened_at);
