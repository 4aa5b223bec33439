import type { Clock } from '../../platform/clock.ts'
import { recordHappening, subjectOfRow, type SubjectRow } from '../../mail/event/event-log.ts'
import { unlessConflict, type Database, type Statement } from '../../platform/store/database.ts'
import { endWaiting, waitingLanesOf, type WaitingLane } from './queue-store.ts'
import { moveEndedByOperator } from './recipient-state.ts'

interface WaitingRow extends SubjectRow {
  id: string
  attempts: number
  last_response: string | null
  smtp_code: number | null
  enhanced_status: string | null
}

/** Recipients bounced together: this limits memory and the length of a commit. */
const stepSize = 200

const columns = `r.id, r.account_id, r.message_id, r.forward_path, r.attempts, r.last_response, r.smtp_code, r.enhanced_status,
                 m.subject, m.sandbox`

/** Uses the partial index recipient_due. */
const free = `
  select ${columns} from recipient r join message m on m.id = r.message_id
   where r.destination = :destination and r.account_id = :account_id and r.urgent = :urgent
     and r.due_at is not null and r.owner is null and r.held = 0 and r.state in ('queued', 'deferred')
   order by r.due_at, r.id limit :limit`

/** Uses the partial index recipient_held. */
const held = `
  select ${columns} from recipient r join message m on m.id = r.message_id
   where r.destination = :destination and r.held > 0 and r.due_at is not null and r.owner is null and r.state in ('queued', 'deferred')
   order by r.due_at, r.id limit :limit`

/**
 * Bounces the mail that waits for a destination: a soft bounce with an event for each recipient, even if it is held. What is being
 * tried or scheduled for later is not affected. Returns the number of recipients; if it is `most`, there may be more.
 */
export async function bounceWaiting({ db, clock }: { db: Database; clock: Clock }, destination: string, most: number): Promise<number> {
  let ended = await bounceAll({ db, clock }, { sql: held, params: { destination } }, most)
  const lanes = await db.slowRead<WaitingLane>(waitingLanesOf, { destination })
  for (const { account_id, urgent } of lanes) {
    ended += await bounceAll({ db, clock }, { sql: free, params: { destination, account_id, urgent } }, most - ended)
  }
  return ended
}

async function bounceAll({ db, clock }: { db: Database; clock: Clock }, { sql, params }: Statement, most: number): Promise<number> {
  let ended = 0
  while (ended < most) {
    const rows = await db.slowRead<WaitingRow>(sql, { ...params, limit: Math.min(stepSize, most - ended) })
    const done = await Promise.all(rows.map((row) => bounce(db, row, clock.now())))
    const count = done.filter(Boolean).length
    ended += count
    // If all were claimed in the meantime, there is nothing left to bounce.
    if (count === 0) break
  }
  return ended
}

/** False if somebody else was first. */
async function bounce(db: Database, row: WaitingRow, now: number): Promise<boolean> {
  const reply = row.smtp_code === null ? null : { code: row.smtp_code, enhancedStatus: row.enhanced_status, text: row.last_response ?? '' }
  const move = moveEndedByOperator(row, { reply, reason: row.last_response }, now)
  const subject = subjectOfRow(row.id, row)
  const batch = [endWaiting(row.id, move, now), ...move.events.map((event) => recordHappening(subject, event, now))]
  return (await unlessConflict(db.write(batch))) !== false
}
