import { idFloor } from '../../platform/id.ts'
import type { Value } from '../../platform/store/database.ts'
import type { Page } from '../../platform/store/page-clause.ts'
import type { Span } from '../../platform/store/search-in-pieces.ts'
import { emailStatuses, markedMessages, statusCondition, type EmailStatus } from './email-status.ts'
import { messagesBehind, messagesWith, messagesWithPart, termOf, wholeTable } from './search-terms.ts'
import { anyCasePatterns } from './text-pattern.ts'

/** An address, or a pattern (see `text-pattern`) that a part of one matches. */
export type SoughtAddress = { address: string } | { pattern: string }

export interface MessageFilter {
  /** Any of these; null: whatever it is. */
  status: EmailStatus[] | null
  /** Of a recipient. */
  to: SoughtAddress | null
  /** In the From field. */
  from: SoughtAddress | null
  /** A part of it, in any case. */
  subject: string | null
  /** With its angle brackets. */
  messageIdHeader: string | null
  domainId: string | null
  tag: { name: string; value: string | null } | null
  /** Accepted at or after; epoch, ms. */
  since: number | null
  /** Accepted before; epoch, ms. */
  until: number | null
}

/** Messages that may meet one condition of a filter: queries for the ids from `:first` (inclusive) to `:end` (exclusive). */
export interface Candidates {
  /** Those that an index finds. */
  indexed: string
  /** Those that the index does not contain yet, and possibly others; null if there are none. */
  behind: string | null
  /** Whether searching a part of the range costs only that fraction. */
  isDivisible: boolean
  /** Whether the index leads straight to them, so that a few are found at once. */
  isDirect: boolean
}

export const everyMessage: MessageFilter = {
  status: null,
  to: null,
  from: null,
  subject: null,
  messageIdHeader: null,
  domainId: null,
  tag: null,
  since: null,
  until: null,
}

/** The indexed candidates for each condition of the filter that has an index. */
export function candidatesOf({ status, to, from, domainId, tag }: MessageFilter): Candidates[] {
  const withTerm = (term: string, type: 'email.queued' | 'email.delivered'): Candidates => ({
    indexed: messagesWith(term),
    behind: messagesBehind(type),
    isDivisible: true,
    isDirect: true,
  })
  const withAddress = (kind: 'to' | 'from', sought: SoughtAddress): Candidates => {
    const whole = withTerm(termOf[kind], 'email.queued')
    return 'address' in sought ? whole : { ...whole, indexed: messagesWithPart(kind), isDirect: false }
  }
  return [
    ...(to === null ? [] : [withAddress('to', to)]),
    ...(from === null ? [] : [withAddress('from', from)]),
    ...(domainId === null ? [] : [withTerm(termOf.domain, 'email.queued')]),
    ...(tag === null
      ? []
      : [{ indexed: messagesTagged(tag.value !== null), behind: null, isDivisible: tag.value !== null, isDirect: true }]),
    ...(status === null
      ? []
      : [
          // Nearly all are delivered: with others beside them, no index narrows the search.
          ...(status.length === 1 && status[0] === 'delivered' ? [withTerm(termOf.delivered, 'email.delivered')] : []),
          ...(status.includes('delivered')
            ? []
            : [{ indexed: inOrder(status).map(markedMessages).join(' union all '), behind: null, isDivisible: true, isDirect: true }]),
        ]),
  ]
}

const messagesTagged = (withValue: boolean): string =>
  `select message_id from message_tag
    where account_id = :accountId and name = :tagName ${withValue ? 'and value = :tagValue' : ''}
      and message_id >= :first and message_id < :end`

/**
 * The remaining conditions, checked for each message; join them with `and` to the condition on the account, `:accountId`. The SQL has
 * few variants whatever is asked for, because each variant stays prepared and takes 30 KB. PostgreSQL may read all of a table to hash it
 * for an `exists`, but not for `select … limit 1`.
 */
export const filterCondition = ({ status }: MessageFilter): string =>
  `created_at >= :since and created_at < :until
   and (:to = '' or (select 1 from recipient where message_id = message.id and lower(forward_path) = lower(:to) limit 1) is not null)
   and (:toPattern = ''
        or (select 1 from recipient where message_id = message.id and lower(forward_path) like :toPattern escape '!' limit 1) is not null)
   and (:from = '' or author = lower(:from)) and (:fromPattern = '' or author like :fromPattern escape '!')
   and (:subject = '' or lower(subject) like :subject escape '!'
        or (:subjectToo <> '' and (lower(subject) like :subjectToo escape '!' or lower(subject) like :subjectAlso escape '!')))
   and (:messageIdHeader = '' or message_id_header = :messageIdHeader) and (:domainId = '' or domain_id = :domainId)
   and (:tagName = ''
        or (select 1 from message_tag
             where message_id = message.id and name = :tagName and (:tagValue = '' or value = :tagValue) limit 1) is not null)
   ${status === null ? '' : `and (${inOrder(status).map(statusCondition).join(' or ')})`}`

/** The same statuses make the same SQL. */
const inOrder = (statuses: EmailStatus[]): EmailStatus[] => emailStatuses.filter((status) => statuses.includes(status))

/** The parameters of all these, except those for the account and the range. */
export function filterParams({ to, from, subject, messageIdHeader, domainId, tag, since, until }: MessageFilter): Record<string, Value> {
  const [first, second, third] = subject === null ? ['', '', ''] : anyCasePatterns(subject)
  return {
    ...addressParams('to', to),
    ...addressParams('from', from),
    subject: first,
    subjectToo: second,
    subjectAlso: third,
    messageIdHeader: messageIdHeader ?? '',
    domainId: domainId ?? '',
    tagName: tag?.name ?? '',
    tagValue: tag?.value ?? '',
    since: since ?? 0,
    until: until ?? Number.MAX_SAFE_INTEGER,
  }
}

const addressParams = (kind: 'to' | 'from', sought: SoughtAddress | null): Record<string, Value> => ({
  [kind]: sought && 'address' in sought ? sought.address : '',
  [`${kind}Pattern`]: sought && 'pattern' in sought ? sought.pattern : '',
})

/** The range of ids that the page and the times of the filter allow. An id is created a little before its message is accepted. */
export function spanOf({ since, until }: MessageFilter, { after, before }: Page): Span<string> {
  const first = since === null ? wholeTable.first : idFloor('em', since - maxAcceptanceMs)
  const end = until === null ? wholeTable.end : idFloor('em', until)
  return {
    first: before !== null && before >= first ? `${before}+` : first,
    end: after !== null && after < end ? after : end,
  }
}

/** No submission takes longer than this from its first byte. */
const maxAcceptanceMs = 24 * 3_600_000
