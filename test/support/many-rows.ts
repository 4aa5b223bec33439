/** How many rows the tables get that grow with the mail. */
const sizes: Record<string, number> = {
  message: 1_000_000,
  recipient: 1_000_000,
  event: 1_000_000,
  attempt: 50_000,
  audit: 50_000,
  content: 50_000,
  idempotency: 50_000,
  message_tag: 50_000,
  returned_mail: 50_000,
  search_term: 50_000,
  suppression: 50_000,
  webhook_attempt: 50_000,
  webhook_delivery: 50_000,
}

export const largeTables = Object.keys(sizes)

/**
 * Copies the rows that there are until the large tables have their sizes. A copy has ids, addresses and keys of its own, refers to the copies of
 * what the row refers to, and is a second older than the one before; its ids come before those that there are. One recipient and one webhook
 * delivery in a thousand wait.
 */
export const manyRows = `
  set session_replication_role = replica;
  set maintenance_work_mem = '256MB';
  create temp table made_later as
    select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index i
     where indrelid::regclass::text in (${Object.keys(sizes)
       .map((table) => `'${table}'`)
       .join(', ')})
       and not exists (select 1 from pg_constraint where conindid = i.indexrelid);
  do $do$
  declare
    made record;
    size record;
    copied text;
    total bigint;
  begin
    for made in select * from made_later loop execute 'drop index ' || made.name; end loop;
    for size in select * from (values ${Object.entries(sizes)
      .map(([table, rows]) => `('${table}', ${rows})`)
      .join(', ')}) as size (name, rows) loop
      execute format('select count(*) from %I', size.name) into total;
      if total = 0 then raise exception 'no row of % to copy', size.name; end if;
      select string_agg(case
          when column_name in ('id', 'message_id', 'recipient_id', 'event_id', 'delivery_id', 'address', 'key', 'report_id')
           and data_type = 'text' then format('replace(%I, ''_01'', ''_00'') || lpad(n::text, 7, ''0'')', column_name)
          when size.name = 'recipient' and column_name = 'state' then 'case when n % 50 = 0 then state else ''delivered'' end'
          when size.name = 'webhook_delivery' and column_name = 'state' then 'case when n % 50 = 0 then ''failed'' else ''success'' end'
          when size.name = 'webhook_delivery' and column_name in ('owner', 'next_attempt_at') then 'null'
          when size.name = 'message_tag' and column_name = 'name' then 'name || n'
          when size.name = 'search_term' and column_name = 'part' then 'part - n % 50'
          when column_name = 'seq' then format('seq - n * %s', (select max(seq) from event))
          when right(column_name, 3) = '_at' then format('%I - n * 1000', column_name)
          else format('%I', column_name) end, ', ' order by ordinal_position)
        into copied from information_schema.columns where table_schema = 'public' and table_name = size.name;
      execute format('insert into %I select %s from %I, generate_series(1, %s) n on conflict do nothing',
        size.name, copied, size.name, size.rows / total);
      execute format('select count(*) from %I', size.name) into total;
      if total < size.rows * 0.9 then raise exception 'only % rows of %', total, size.name; end if;
    end loop;
    for made in select * from made_later loop execute made.definition; end loop;
  end $do$;
  update recipient set state = 'queued', due_at = expires_at, destination = 'd' || right(id, 6) where id like '%000';
  update recipient set owner = 'node_1' where due_at is not null and id like '%0000';
  update webhook_delivery set state = 'pending', next_attempt_at = created_at where id like '%000';
  reset session_replication_role;
  analyze;`
