import type { Database, Row, Statement } from '../store/database.ts'

/** Recipients that are changed in one commit. */
const stepSize = 500
/** What was put back because no connection was free is due again within seconds, ms. */
const shortWaitMs = 60_000

/**
 * Waits longer than it may: what was never tried is due at once, and after a deferral no wait of the schedule is longer. Uses
 * the partial index recipient_due.
 */
const isLate = `due_at > :latestNew and owner is null and held = 0 and (state = 'queued' or (state = 'deferred' and due_at > :latest))`

/**
 * Makes due at once what the clock, now set back, has left waiting for a time that is far off: no wait gets longer than the
 * longest of the schedule. Each keeps the time that it had left. Mail that is scheduled waits for its date. `noteDue` is called
 * with the destination of each.
 */
export async function bringForward(
  db: Database,
  { now, longestWaitMs }: { now: number; longestWaitMs: number },
  noteDue: (destination: string) => void,
): Promise<void> {
  const params = { latestNew: now + shortWaitMs, latest: now + longestWaitMs }
  const rows = await db.slowRead<{ destination: string }>(`select distinct destination from recipient where ${isLate}`, params)
  for (const { destination } of rows) {
    const step: Statement = {
      sql: `update recipient set expires_at = expires_at - due_at + :now, due_at = :now
             where id in (select id from recipient where destination = :destination and ${isLate} order by due_at limit :rows)`,
      params: { ...params, destination, now, rows: stepSize },
    }
    for (let changes = stepSize; changes === stepSize;) changes = (await db.write([step], { patient: true }))[0]?.changes ?? 0
    noteDue(destination)
  }
}

interface HeldRow extends Row {
  id: string
  message_id: string
}

/** A step of what is held; `:after` lets no step look again at what is in order. By the partial index recipient_state. */
const heldStep = `
  select id, message_id from recipient
   where account_id = :accountId and state = 'scheduled' and state not in ('queued', 'delivered') and message_id >= :after
     and owner is null and due_at > :now and last_response is not null
   order by message_id limit :rows`

/** Makes due at once what was held while its account was suspended, and has `noteDue` called with the destination of each. */
export async function bringHeld(
  db: Database,
  { accountId, now }: { accountId: string; now: number },
  noteDue: (destination: string) => void,
): Promise<void> {
  for (let after = '', rows = stepSize; rows === stepSize;) {
    const held = await db.slowRead<HeldRow>(heldStep, { accountId, now, after, rows: stepSize })
    const written = await db.write(
      held.map(({ id }) => ({
        sql: `update recipient set due_at = :now where id = :id and state = 'scheduled' and owner is null returning destination`,
        params: { id, now },
      })),
      { patient: true },
    )
    for (const destination of new Set(written.flatMap((each) => each.rows.map((row) => String(row['destination']))))) noteDue(destination)
    after = held.at(-1)?.message_id ?? ''
    rows = held.length
  }
}
