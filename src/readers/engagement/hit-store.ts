import { recordEvent, subjectOfRow, type EventSubject, type SubjectRow } from '../../mail/event/event-log.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { storedTracking } from '../../mail/message/tracking-options.ts'
import type { Database, Statement } from '../../platform/store/database.ts'
import { namedValues } from '../../platform/store/named-values.ts'
import type { HitJudgement } from '../tracking/hit.ts'
import type { KeptReader } from './kept-reader.ts'

/** The recipient whose token a hit came with. */
export interface HitSubject extends EventSubject {
  /** Whether to store neither the reader's address nor the user agent. */
  isAnonymous: boolean
  /** Epoch, ms. The first attempt if a smarthost accepted the mail; null if not yet delivered. */
  deliveredAt: number | null
  /** How many hits are stored. */
  stored: number
  /** How many of them are machines'. */
  storedOfMachines: number
}

/** A hit with its verdict. */
export interface JudgedHit extends KeptReader {
  /** `hit_…` */
  id: string
  type: 'open' | 'click'
  link: string | null
  at: number
  verdict: HitJudgement
}

interface TrackedRow extends SubjectRow {
  id: string
  tracking: string
  delivered_at: number | null
  stored: number
  stored_of_machines: number
}

/** Recipients per query. */
export const subjectsAtOnce = 50
/** With as many names in every query, so that it is one statement. */
export const recipientNames = (ids: readonly string[]) =>
  namedValues(
    'r',
    Array.from({ length: subjectsAtOnce }, (_, place) => ids[place] ?? ''),
  )
const subjectsSql = `
  select r.id, r.message_id, r.account_id, r.forward_path, m.subject, m.sandbox, m.tracking,
         coalesce(r.delivered_at, r.sent_at) as delivered_at,
         (select count(*) from hit h where h.recipient_id = r.id) as stored,
         (select count(*) from hit h where h.recipient_id = r.id and h.bot = 1) as stored_of_machines
    from recipient r join message m on m.id = r.message_id
   where r.id in (${recipientNames([]).names}) and m.tracking is not null`

/** By recipient. Omits recipients that are gone or whose mail is not tracked. */
export async function readSubjects(db: Pick<Database, 'read'>, recipientIds: readonly string[]): Promise<Map<string, HitSubject>> {
  const rows = await db.read<TrackedRow>(subjectsSql, recipientNames(recipientIds).params)
  return new Map(rows.map((row) => [row.id, subjectOf(row)]))
}

const subjectOf = (row: TrackedRow): HitSubject => ({
  ...subjectOfRow(row.id, row),
  isAnonymous: storedTracking(row.tracking)?.anonymous ?? false,
  deliveredAt: row.delivered_at,
  stored: row.stored,
  storedOfMachines: row.stored_of_machines,
})

/** How likely it is a machine, as it is stored. */
export const hundredths = ({ confidence }: HitJudgement): number => Math.floor(Math.round(confidence * 1000) / 10)

const verdictParams = (verdict: HitJudgement) => ({ bot: verdict.bot ? 1 : 0, reason: verdict.reason, confidence: hundredths(verdict) })

export const insertHit = (
  { messageId, recipientId }: HitSubject,
  { id, type, link, ipAddress, userAgent, at, verdict }: JudgedHit,
): Statement => ({
  sql: `insert into hit (id, message_id, recipient_id, type, link, ip_address, user_agent, bot, bot_reason, bot_confidence, happened_at)
        values (:id, :messageId, :recipientId, :type, :link, :ipAddress, :userAgent, :bot, :reason, :confidence, :at)`,
  params: { id, messageId, recipientId, type, link, ipAddress, userAgent, at, ...verdictParams(verdict) },
})

export const updateVerdict = (id: string, verdict: HitJudgement): Statement => ({
  sql: 'update hit set bot = :bot, bot_reason = :reason, bot_confidence = :confidence where id = :id',
  params: { id, ...verdictParams(verdict) },
})

/**
 * Recounts opens and clicks by people from all stored hits; others who write hits of the recipient wait until that is written. Fails (`expect`)
 * if the recipient was erased or removed meanwhile.
 */
export const recount = ({ recipientId, to }: HitSubject): Statement => ({
  sql: `update recipient
           set open_count = (select count(*) from hit where recipient_id = :recipientId and type = 'open' and bot = 0),
               opened_at = (select min(happened_at) from hit where recipient_id = :recipientId and type = 'open' and bot = 0),
               click_count = (select count(*) from hit where recipient_id = :recipientId and type = 'click' and bot = 0),
               clicked_at = (select min(happened_at) from hit where recipient_id = :recipientId and type = 'click' and bot = 0)
         where id = :recipientId and forward_path = :to`,
  params: { recipientId, to },
  expect: 1,
  locks: recipientId,
})

/** Records that a hit with a written event turned out to be a machine's. */
export const recordRejudged = (subject: HitSubject, { type, at, verdict }: JudgedHit, eventId: string, now: number): Statement =>
  recordEvent(subject, 'email.rejudged', { event_id: eventId, type: eventTypeOf(type), at: isoTime(at), ...botMembers(verdict) }, now)

interface UnsettledRow extends SubjectRow {
  id: string
  type: 'open' | 'click'
  link: string | null
  ip_address: string | null
  user_agent: string | null
  bot: number
  bot_reason: string | null
  bot_confidence: number
  happened_at: number
  recipient_id: string
}

/** Hits up to `until` (epoch, ms) that have no event yet. Uses the partial index hit_unsettled. */
export const readUnsettled = (db: Pick<Database, 'read'>, until: number, limit: number): Promise<UnsettledRow[]> =>
  db.read<UnsettledRow>(
    `select h.id, h.type, h.link, h.ip_address, h.user_agent, h.bot, h.bot_reason, h.bot_confidence, h.happened_at, h.message_id,
            h.recipient_id, r.account_id, r.forward_path, m.subject, m.sandbox
       from hit h join recipient r on r.id = h.recipient_id join message m on m.id = h.message_id
      where h.event_id is null and h.happened_at <= :until order by h.happened_at, h.id limit :limit`,
    { until, limit },
  )

/** Writes the event of a hit, and its id beside the hit. */
export function settleHit(row: UnsettledRow, now: number): { eventId: string; statements: Statement[] } {
  const at = isoTime(row.happened_at)
  const client = { ip_address: row.ip_address, user_agent: row.user_agent }
  const verdict = botMembers({ bot: row.bot === 1, reason: row.bot_reason, confidence: row.bot_confidence / 100 })
  const own = row.type === 'open' ? { opened_at: at } : { clicked_at: at, link: row.link }
  const event = recordEvent(subjectOfRow(row.recipient_id, row), eventTypeOf(row.type), { ...own, ...client, ...verdict }, now)
  const eventId = event.params?.['id'] as string
  const note = { sql: 'update hit set event_id = :eventId where id = :id and event_id is null', params: { id: row.id, eventId }, expect: 1 }
  return { eventId, statements: [note, event] }
}

const eventTypeOf = (type: 'open' | 'click') => (type === 'open' ? 'email.opened' : 'email.clicked') as 'email.opened' | 'email.clicked'
const botMembers = ({ bot, reason, confidence }: HitJudgement) => ({ bot, bot_reason: reason, bot_confidence: confidence })
