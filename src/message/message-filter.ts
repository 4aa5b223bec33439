import { idFloor } from '../id.ts'
import type { Value } from '../store/database.ts'
import type { Page } from '../store/page-clause.ts'
import { statusCondition } from './email-status.ts'
import type { EmailStatus } from './email-status.ts'

export interface MessageFilter {
  status: EmailStatus | null
  /** Bare address of a recipient. */
  to: string | null
  /** Bare address in the From field. */
  from: string | null
  domainId: string | null
  tag: { name: string; value: string | null } | null
  /** Accepted at or after; epoch, ms. */
  since: number | null
  /** Accepted before; epoch, ms. */
  until: number | null
}

/**
 * What the messages of a page meet, to be joined by `and` to the condition of their account, `:accountId`. Few texts, whatever
 * is asked for: each text of a statement stays prepared, with 30 KB.
 */
export function filterClause(filter: MessageFilter, page: Page): { condition: string; params: Record<string, Value> } {
  const { status, to, from, domainId, tag } = filter
  const conditions = [withinBounds]
  if (status !== null) conditions.push(statusCondition(status))
  if (to !== null) conditions.push('exists (select 1 from recipient where message_id = message.id and lower(forward_path) = lower(:to))')
  if (from !== null) conditions.push('author = lower(:from)')
  if (domainId !== null) conditions.push('domain_id = :domainId')
  if (tag !== null) {
    const withValue = tag.value === null ? '' : ' and value = :tagValue'
    conditions.push(`id in (select message_id from message_tag where account_id = :accountId and name = :tagName${withValue})`)
  }
  const params = { ...boundsOf(filter, page), to, from, domainId, tagName: tag?.name ?? null, tagValue: tag?.value ?? null }
  return { condition: conditions.join(' and '), params }
}

const withinBounds = 'id > :above and id < :below and created_at >= :since and created_at < :until'

/**
 * What the page and the times of the filter leave: one bound on each side, since of two SQLite would look for either. An id is
 * minted a little before its message is accepted.
 */
function boundsOf({ since, until }: MessageFilter, { after, before }: Page): Record<string, Value> {
  const above = since === null ? '' : idFloor('em', since - longestAcceptanceMs)
  const below = until === null ? behindAllIds : idFloor('em', until)
  return {
    above: before !== null && before > above ? before : above,
    below: after !== null && after < below ? after : below,
    since: since ?? 0,
    until: until ?? Number.MAX_SAFE_INTEGER,
  }
}

const behindAllIds = 'em_~'

/** No submission takes longer than this from its first byte. */
const longestAcceptanceMs = 24 * 3_600_000
