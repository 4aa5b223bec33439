import type { Database, Statement } from '../store/database.ts'

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
 * longest of the schedule. Each keeps the time that it had left. Mail that is scheduled waits for its date.
 * @returns the destinations of what was changed
 */
export async function bringForward(db: Database, { now, longestWaitMs }: { now: number; longestWaitMs: number }): Promise<string[]> {
  const params = { latestNew: now + shortWaitMs, latest: now + longestWaitMs }
  const rows = await db.report<{ destination: string }>(`select distinct destination from recipient where ${isLate}`, params)
  const destinations = rows.map(({ destination }) => destination)
  for (const destination of destinations) {
    const step: Statement = {
      sql: `update recipient set expires_at = expires_at - due_at + :now, due_at = :now
             where id in (select id from recipient where destination = :destination and ${isLate} order by due_at limit :rows)`,
      params: { ...params, destination, now, rows: stepSize },
    }
    for (let changes = stepSize; changes === stepSize; ) changes = (await db.write([step], { patient: true }))[0]?.changes ?? 0
  }
  return destinations
}
