-- `bot` of the event's data; null if it has none. Only webhooks look for it, so it is also null in what they had read before it was added.
alter table event add column bot bigint;
update event set bot = case when data like '%"bot":true%' then 1 else 0 end
 where type in ('email.opened', 'email.clicked') and seq > (
   select case when told.position > wanted.position then told.position else wanted.position end
     from (select coalesce(max(position), 0) as position from cursor where name = 'webhook') told,
          (select min(after_seq) as position from webhook where status = 'enabled') wanted);
