import type { Database, Row } from '../../platform/store/database.ts'
import { removeInPieces } from '../../platform/store/remove-in-pieces.ts'
import type { Lane, WaitingLane } from './queue-store.ts'
import { maxWaitMs } from './retry-schedule.ts'
import { firstOfLanes } from './waiting-lanes.ts'

/** Recipients changed in one commit. */
const stepSize = 500
/** Mail put back because no connection was free is due again within seconds, ms. */
const shortWaitMs = 60_000

/**
 * Waits for longer than allowed: mail that was never tried is due at once, and after a deferral no wait in the schedule is longer. Mail
 * that would be tried after its end was tried in a reprieve (see `Reprieve`), before which the clock was set forward. Uses the partial
 * index recipient_due.
 */
const isLate = `due_at > :latestNew and owner is null and held = 0
  and (state = 'queued' or (state = 'deferred' and (due_at > :latest or due_at > expires_at)))`

/**
 * Mail keeps its end if the clock was right when that was set: it was tried in a reprieve, or no new mail would have more time. Otherwise
 * it keeps what it had left when it was due; so does mail with an expiry of its own, which must never be late.
 */
const rightEnd = `case when due_at > expires_at then expires_at
                       when expires_at <= :latestEnd
                        and not exists (select 1 from message where id = recipient.message_id and expires_in is not null) then expires_at
                       else expires_at - due_at + :now end`

/**
 * After the clock was set back, makes due at once what would wait too long: no wait is longer than the longest of any schedule. Scheduled
 * mail waits for its date. Calls `noteDue` with the lane of each.
 */
export async function bringForward(
  db: Database,
  { now, schedules, giveUpAfterMs }: { now: number; schedules: Parameters<typeof maxWaitMs>[0]; giveUpAfterMs: number },
  noteDue: (lane: Lane) => void,
): Promise<void> {
  const params = { latestNew: now + shortWaitMs, latest: now + maxWaitMs(schedules) }
  const change = { ...params, now, latestEnd: now + giveUpAfterMs }
  const lanes = await db.slowRead<Lane & Row>(`select distinct destination, account_id, urgent from recipient where ${isLate}`, params)
  for (const { destination, account_id, urgent } of lanes) {
    const step = {
      sql: `update recipient set expires_at = ${rightEnd}, due_at = :now
             where id in (select id from recipient
                           where destination = :destination and account_id = :account_id and urgent = :urgent and ${isLate}
                           order by due_at, id limit :rows)`,
      params: { ...change, destination, account_id, urgent },
    }
    await removeInPieces(db, [step])
    noteDue({ destination, account_id, urgent })
  }
}

interface HeldRow extends Row {
  id: string
  message_id: string
}

/** A batch of held recipients; `:after` keeps it from checking any twice. Uses the partial index recipient_state. */
const heldStep = `
  select id, message_id from recipient
   where account_id = :accountId and state = 'scheduled' and state not in ('queued', 'delivered') and message_id >= :after
     and owner is null and due_at > :now and last_response is not null
   order by message_id, id limit :rows`

/**
 * Frees what is held of accounts that are no longer suspended by the server, and calls `noteDue` with the lane of each. May be called at
 * any time, and goes on with what an earlier call left. Uses recipient_held.
 */
export async function freeHeld(db: Database, noteDue: (lane: Lane, dueAt: number) => void): Promise<void> {
  const accounts = await db.slowRead<{ id: string }>(
    `select distinct r.account_id as id from recipient r join account a on a.id = r.account_id
      where r.held > 0 and r.held = 3 and not (a.status = 'suspended' and a.harm is not null)`,
  )
  for (const { id } of accounts) await freeHeldOf(id, db, noteDue)
}

async function freeHeldOf(accountId: string, db: Database, noteDue: (lane: Lane, dueAt: number) => void): Promise<void> {
  for (let rows = stepSize; rows === stepSize;) {
    const [written] = await db.write([
      {
        sql: `update recipient set held = 0
               where id in (select id from recipient where held > 0 and held = 3 and account_id = :accountId limit :rows)
              returning destination, account_id, urgent, due_at`,
        params: { accountId, rows: stepSize },
      },
    ])
    const freed = (written?.rows ?? []) as unknown as (Lane & { due_at: number | null })[]
    const waiting = freed.filter((row): row is WaitingLane => row.due_at !== null)
    for (const lane of firstOfLanes(waiting)) noteDue(lane, lane.due_at)
    rows = freed.length
  }
}

/** Makes due at once what was held while its account was suspended, and calls `noteDue` with the lane of each. */
export async function bringHeld(
  db: Database,
  { accountId, now }: { accountId: string; now: number },
  noteDue: (lane: Lane) => void,
): Promise<void> {
  for (let after = '', rows = stepSize; rows === stepSize;) {
    const held = await db.slowRead<HeldRow>(heldStep, { accountId, now, after, rows: stepSize })
    const written = await db.write(
      held.map(({ id }) => ({
        sql: `update recipient set due_at = :now where id = :id and state = 'scheduled' and owner is null
              returning destination, account_id, urgent, due_at`,
        params: { id, now },
      })),
      { mayBatch: true },
    )
    for (const lane of firstOfLanes(written.flatMap((each) => each.rows as unknown as WaitingLane[]))) noteDue(lane)
    after = held.at(-1)?.message_id ?? ''
    rows = held.length
  }
}
