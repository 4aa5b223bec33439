import type { Database, Statement } from '../../platform/store/database.ts'

/**
 * What the table search_term records about messages, for finding them, as SQL over the parameters of a search. The table follows the
 * log with a delay, and outdated entries stay: it yields candidates, and the search checks each again.
 */
export const termOf = {
  /** Has this recipient. */
  to: `'to:' || lower(:to)`,
  /** Has this address in From. */
  from: `'from:' || lower(:from)`,
  /** Is signed by this domain. */
  domain: `'domain:' || :domainId`,
  /** Was delivered to a recipient. */
  delivered: `'delivered'`,
}

/** The cursor up to which the log is read. */
export const searchCursor = 'search'

/**
 * The ids of messages that have a term, from `:first` (inclusive) to `:end` (exclusive), as far as they are in the table. The joins are
 * cross joins, so that SQLite looks into each part by the whole key.
 */
export const messagesWith = (term: string): string =>
  `select s.message_id from search_part p cross join search_term s
    where p.start < :end and p.start >= (select max(start) from search_part where start <= :first)
      and s.part = p.part and s.account_id = :accountId and s.sandbox = :sandbox and s.term = ${term}
      and s.message_id >= :first and s.message_id < :end`

/** The same for those that have an address which matches `:toPattern` or `:fromPattern`: reads all such terms of the parts in the range. */
export const messagesWithPart = (kind: 'to' | 'from'): string =>
  `select s.message_id from search_part p cross join search_term s
    where p.start < :end and p.start >= (select max(start) from search_part where start <= :first)
      and s.part = p.part and s.account_id = :accountId and s.sandbox = :sandbox and s.term >= '${kind}:' and s.term < '${kind};'
      and s.term like '${kind}:' || :${kind}Pattern escape '!' and s.message_id >= :first and s.message_id < :end`

/** The range of all messages. */
export const wholeTable = { first: '', end: 'em_~' }

/** The position up to which the log has been read, and how many events are behind it. */
export async function searchPosition(db: Pick<Database, 'slowRead'>): Promise<{ position: number; behind: number }> {
  const [found] = await db.slowRead<{ position: number; newest: number }>(
    `select (select coalesce(max(position), 0) from cursor where name = '${searchCursor}') as position,
            (select coalesce(max(seq), 0) from event) as newest`,
  )
  return { position: found?.position ?? 0, behind: (found?.newest ?? 0) - (found?.position ?? 0) }
}

/** How many events the table may lag behind and still be useful. There are more only after an update, until the table is filled. */
export const maxBehind = 300_000

/**
 * The ids of the messages whose terms are not in the table yet: those of such events after the cursor. That there are events up to the newest
 * only is said for PostgreSQL, which takes a range with two ends for a small one, and one with a single end for a third of the table.
 */
export const messagesBehind = (type: 'email.queued' | 'email.delivered'): string =>
  `select e.message_id from event e
    where e.seq > (select coalesce(max(position), 0) from cursor where name = '${searchCursor}')
      and e.seq <= (select max(seq) from event)
      and e.account_id = :accountId and e.sandbox = :sandbox and e.type = '${type}'`

/** Begins a new part after all messages whose terms are in the table. */
export const beginPart: Statement = {
  sql: `insert into search_part (start, part)
        select max(message_id) || '+', max(part) + 1 from search_term
         where part = (select max(part) from search_part) having max(part) is not null`,
}

/** Removes empty parts; their ids then belong to the previous part. */
export const removeEmptyParts: Statement = {
  sql: `delete from search_part where part > 0 and part < (select max(part) from search_part)
           and not exists (select 1 from search_term where search_term.part = search_part.part)`,
}

const partOf = (id: string): string => `(select part from search_part where start <= ${id} order by start desc limit 1)`
const columns = 'part, account_id, sandbox, term, message_id'
const ofMessage = `case k.kind when 1 then 'from:' || m.author when 2 then 'domain:' || m.domain_id else 'delivered' end`

/** Rows for the table, about recipients. `ids`: a query for them. */
export const recipientTerms = (ids: string): string =>
  `select ${partOf('m.id')}, m.account_id, m.sandbox, 'to:' || lower(r.forward_path), m.id
     from recipient r join message m on m.id = r.message_id where r.id in (${ids})`

/** The same for the authors of messages. */
export const authorTerms = (ids: string): string =>
  `select ${partOf('m.id')}, m.account_id, m.sandbox, 'from:' || m.author, m.id
     from message m where m.id in (${ids}) and m.author is not null`

/** Everything that it may record about messages, except for their recipients. */
export const messageTerms = (ids: string): string =>
  `select ${partOf('m.id')}, m.account_id, m.sandbox, ${ofMessage}, m.id
     from message m cross join (select 1 as kind union all select 2 union all select 3) k where m.id in (${ids})`

/** The terms that events from `:from` (exclusive) to `:to` (inclusive) add; positions in the log. */
export const loggedTerms = `
  select ${partOf('m.id')}, m.account_id, m.sandbox, case k.kind when 0 then 'to:' || lower(r.forward_path) else ${ofMessage} end, m.id
    from event e join message m on m.id = e.message_id join recipient r on r.id = e.recipient_id
         cross join (select 0 as kind union all select 1 union all select 2 union all select 3) k
   where e.seq > :from and e.seq <= :to
     and ((e.type = 'email.queued' and (k.kind = 0 or (k.kind = 1 and m.author is not null) or (k.kind = 2 and m.domain_id is not null)))
       or (e.type = 'email.delivered' and k.kind = 3))`

/** Existing rows stay. */
export const insertTerms = (rows: string, params: Statement['params'] = {}): Statement => ({
  sql: `insert into search_term (${columns}) ${rows} on conflict (${columns}) do nothing`,
  params,
})

/** Must come before statements that change or remove the rows that the terms are made from. */
export const removeTerms = (rows: string, params: Statement['params'] = {}): Statement => ({
  sql: `delete from search_term where (${columns}) in (${rows})`,
  params,
})
