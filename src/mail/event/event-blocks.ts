import type { Statement } from '../../platform/store/database.ts'
import { publicEventTypes } from './event-type.ts'
import type { LogStep } from './log-reader.ts'

/** Log positions per block. The migration of the table `event_block` contains the same number. */
export const blockSize = 1024

/** Must match the index event_feed, so that SQLite uses it. */
export const isPublic = `type in (${publicEventTypes.map((type) => `'${type}'`).join(', ')})`

/** Records the blocks that a step's events are in. Idempotent. */
export const noteBlocks = (step: LogStep): Statement => ({
  sql: `insert into event_block (account_id, sandbox, type, block, oldest, newest)
        select account_id, sandbox, type, seq / ${blockSize}, min(created_at), max(created_at) from event
         where seq > :from and seq <= :to and ${isPublic}
         group by account_id, sandbox, type, seq / ${blockSize}
        on conflict (account_id, sandbox, type, block) do update
           set oldest = case when excluded.oldest < event_block.oldest then excluded.oldest else event_block.oldest end,
               newest = case when excluded.newest > event_block.newest then excluded.newest else event_block.newest end`,
  params: { ...step },
})

/** Removes up to `:rows` blocks whose events have all been deleted. */
export const removeOldBlocks: Statement = {
  sql: `delete from event_block where (account_id, sandbox, type, block) in (
          select account_id, sandbox, type, block from event_block
           where block < (select min(seq) from event) / ${blockSize} order by block limit :rows offset :skip)`,
}
