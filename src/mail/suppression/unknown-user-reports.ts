import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import { idFloor } from '../../platform/id.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { messagesBehind, messagesWith, maxBehind, searchPosition, termOf, wholeTable } from '../message/search-terms.ts'
import type { Database, Statement } from '../../platform/store/database.ts'
import { suppressionAddress } from './suppression-address.ts'

interface SaidAddress extends AccountScope {
  address: string
}

/** A failure whose wording alone says that the address is unknown (see `Judgement`). */
interface UnknownUserReport extends SaidAddress {
  recipientId: string
}

const dayMs = 86_400_000
/** One fault of a mail system may last past midnight. */
const apartMs = dayMs / 2

/** The latest time that counts as another day: an earlier date (UTC), at least half a day before `now`. */
const anotherDay = (now: number): number => Math.min(Math.floor(now / dayMs) * dayMs - 1, now - apartMs)

const date = (at: number): string => isoTime(at).slice(0, 10)

/** Why an address is suppressed the second time. The event says the same. */
export const toldTwice = (reason: string, saidBefore: number, now: number): string =>
  `Reported twice as unknown, on ${date(saidBefore)} and ${date(now)}: ${reason}`

const key = ({ address, ...scope }: SaidAddress) => ({
  ...scopeParams(scope),
  address: suppressionAddress(address),
})
const ofKey = 'account_id = :accountId and address = :address and sandbox = :sandbox'

/**
 * When mail to the address failed like this before, epoch ms, if this is the second time: on another day, with no delivery, open or click
 * by a person since then. Null if it is the first time.
 */
export async function unknownUserReportedBefore(
  db: Pick<Database, 'read' | 'slowRead'>,
  said: UnknownUserReport,
  now: number,
): Promise<number | null> {
  const [row] = await db.read<{ unknown_at: number | null; unknown_before: number | null }>(
    `select unknown_at, unknown_before from soft_bounce where ${ofKey}`,
    key(said),
  )
  const before = [row?.unknown_at, row?.unknown_before].find((at) => typeof at === 'number' && at <= anotherDay(now))
  return typeof before === 'number' && !(await hasShownLife(db, said, before)) ? before : null
}

/** Write it if it is not the second time. Of several on one day, the first is kept. */
export const recordUnknownUser = (said: SaidAddress, now: number): Statement => ({
  sql: `insert into soft_bounce (account_id, address, sandbox, bounces, bounces_before, delivered_to, changed_at, unknown_at)
        values (:accountId, :address, :sandbox, 0, 0, null, :now, :now)
        on conflict (account_id, address, sandbox) do update
          set unknown_before = soft_bounce.unknown_at, unknown_at = excluded.unknown_at, changed_at = excluded.changed_at
          where soft_bounce.unknown_at is null or soft_bounce.unknown_at <= :anotherDay or soft_bounce.unknown_at > :now`,
  params: { ...key(said), now, anotherDay: anotherDay(now) },
})

/** Write it with the second time. If the suppression is removed, counting starts over. */
export const forgetUnknownUser = (said: SaidAddress): Statement => ({
  sql: `update soft_bounce set unknown_at = null, unknown_before = null where ${ofKey}`,
  params: key(said),
})

/**
 * True if mail reached the address, or a person there opened or clicked. Also true while that is unknown, because the index is still being
 * filled after an update. A delivery followed by a bounce does not count.
 */
async function hasShownLife(
  db: Pick<Database, 'slowRead'>,
  { accountId, sandbox, address, recipientId }: UnknownUserReport,
  since: number,
): Promise<boolean> {
  if ((await searchPosition(db)).behind > maxBehind) return true
  // Few messages were accepted since then, and they usually settle it. Scheduled mail, and opens of old mail, need a search of everything.
  for (const first of [idFloor('em', since), wholeTable.first]) {
    const found = await db.slowRead(
      `select r.id from (${messagesWith(termOf.to)} union all ${messagesBehind('email.queued')}) candidate cross join recipient r
        where r.message_id = candidate.message_id and lower(r.forward_path) = lower(:to)
          and ((r.id <> :recipientId and r.state in ('delivered', 'complained') and r.delivered_at > :since)
            or (r.id <> :recipientId and r.state = 'sent' and r.sent_at > :since)
            or (r.open_count + r.click_count > 0
                and exists (select 1 from hit h where h.recipient_id = r.id and h.bot = 0 and h.happened_at > :since)))
        limit 1`,
      { ...scopeParams({ accountId, sandbox }), ...wholeTable, first, to: address, recipientId, since },
    )
    if (found.length > 0) return true
  }
  return false
}
