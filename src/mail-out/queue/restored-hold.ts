import type { Clock } from '../../platform/clock.ts'
import { newestTime } from '../../mail/event/newest-time.ts'
import { recordEvent, subjectOfRow, type SubjectRow } from '../../mail/event/event-log.ts'
import type { Health } from '../../platform/health.ts'
import { isoTime } from '../../platform/iso-time.ts'
import type { Changes } from '../../platform/store/changes.ts'
import { unlessConflict, type Database } from '../../platform/store/database.ts'
import type { Lane, WaitingLane } from './queue-store.ts'
import { firstOfLanes } from './waiting-lanes.ts'

/** Recipients changed in one commit. */
const stepSize = 500

interface HeldRow extends SubjectRow {
  id: string
}

/** What a copy of a database holds back. */
export interface RestoredHold {
  /** When the copy was made, epoch ms: what happened since then may be missing. */
  copiedAt: number
  /** Whether it was restored from a backup, and whether its data directory was copied or moved by other means. */
  isRestored: boolean
  isMoved: boolean
  /** Recipients that were queued in the copy, and are held. */
  recipients: number
}

/**
 * If the database is a copy that is opened for the first time, holds all mail that is queued in it: it may have been sent since the
 * copy was made. Mail that is accepted from now on is not held. Call it before anything is sent.
 */
export async function holdRestored({ db, health }: { db: Database; health: Health }): Promise<void> {
  const isNew = await db.read('select is_held from copied where is_held = 0')
  // Another node may be first, and accept mail after that.
  if (isNew.length > 0) {
    await unlessConflict(
      db.write([
        { sql: 'update copied set is_held = 1 where is_held = 0', expect: isNew.length },
        { sql: 'update recipient set held = 2 where due_at is not null and held = 0' },
      ]),
    )
  }
  const hold = await restoredHold(db)
  if (!hold) return
  const details = { copiedAt: isoTime(hold.copiedAt), recipients: hold.recipients }
  if (hold.isRestored) health.report('restored', details)
  if (hold.isMoved) health.report('moved', details)
}

/** Marks a database that does not say it is a copy, such as one that was not made by `sterna backup`. `holdRestored` does the rest. */
export async function noteCopied({ db, clock }: { db: Database; clock: Pick<Clock, 'now'> }): Promise<void> {
  const copiedAt = (await newestTime(db)) ?? clock.now()
  await db.write([
    {
      sql: 'insert into copied (copied_at, is_held) select :copiedAt, 0 where not exists (select 1 from copied where is_held = 0)',
      params: { copiedAt },
    },
    // Wherever it is opened next is its place.
    { sql: 'delete from last_place' },
  ])
}

interface EndServices {
  db: Database
  changes: Pick<Changes, 'note' | 'on'>
  health: Pick<Health, 'clear'>
}

/** Null if the database is not a copy, or an operator has dealt with that. */
export async function restoredHold(db: Database): Promise<RestoredHold | null> {
  const [row] = await db.read<{ copied_at: number | null; restored: number; moved: number }>(
    'select min(copied_at) as copied_at, min(by_files) as restored, max(by_files) as moved from copied',
  )
  if (row?.copied_at == null) return null
  const [held] = await db.slowRead<{ recipients: number }>('select count(*) as recipients from recipient where held = 2')
  return { copiedAt: row.copied_at, isRestored: row.restored === 0, isMoved: row.moved === 1, recipients: held?.recipients ?? 0 }
}

/**
 * Releases what is held because the database was restored. Calls `noteDue` for each lane when its first mail is free, and again when all is:
 * to look how much waits in a lane takes the longer the more it is. Returns the number of recipients.
 */
export async function releaseRestored(db: Database, noteDue: (lane: Lane, dueAt: number) => void): Promise<number> {
  let lanes: WaitingLane[] = []
  let released = 0
  for (let changes = stepSize; changes === stepSize;) {
    const [written] = await db.write([
      {
        sql: `update recipient set held = 0 where id in (select id from recipient where held = 2 order by id limit :rows)
              returning destination, account_id, urgent, due_at`,
        params: { rows: stepSize },
      },
    ])
    const rows = (written?.rows ?? []) as unknown as (Lane & { due_at: number | null })[]
    const known = lanes.length
    lanes = [...firstOfLanes([...lanes, ...rows.filter((row): row is WaitingLane => row.due_at !== null)])]
    for (const lane of lanes.slice(known)) noteDue(lane, lane.due_at)
    changes = rows.length
    released += changes
  }
  for (const lane of lanes) noteDue(lane, lane.due_at)
  return released
}

/** Cancels what is held because the database was restored, with an event for each recipient. Returns their number. */
export async function cancelRestored({ db, clock }: { db: Database; clock: Pick<Clock, 'now'> }): Promise<number> {
  let canceled = 0
  for (let found = stepSize; found === stepSize;) {
    const rows = await db.slowRead<HeldRow>(
      `select r.id, r.account_id, r.message_id, r.forward_path, m.subject, m.sandbox
         from recipient r join message m on m.id = r.message_id
        where r.held = 2 order by r.id limit :rows`,
      { rows: stepSize },
    )
    const done = await Promise.all(rows.map((row) => cancel(db, row, clock.now())))
    canceled += done.filter(Boolean).length
    found = rows.length
  }
  return canceled
}

/** False if somebody else was first. */
async function cancel(db: Database, row: HeldRow, now: number): Promise<boolean> {
  const statement = {
    sql: `update recipient set state = 'canceled', due_at = null, held = 0, owner = null where id = :id and held = 2`,
    params: { id: row.id },
    expect: 1,
  }
  const event = recordEvent(subjectOfRow(row.id, row), 'email.canceled', { canceled_at: isoTime(now) }, now)
  return (await unlessConflict(db.write([statement, event]))) !== false
}

/** The table, and the kind of its changes. */
const copied = 'copied'

/** The operator has dealt with what was held: the database counts as current from now on. */
export async function endRestored({ db, changes, health }: EndServices): Promise<void> {
  await db.write([{ sql: 'delete from copied' }, ...changes.note(copied, '')])
  clearFaults(health)
}

/** Clears the faults of this node when that was done at another one. */
export function followRestored({ db, changes, health }: EndServices): void {
  const look = async (): Promise<void> => {
    if (!(await restoredHold(db))) clearFaults(health)
  }
  changes.on(copied, { load: look, reload: look })
}

function clearFaults(health: Pick<Health, 'clear'>): void {
  health.clear('restored')
  health.clear('moved')
}
