/** The status of an email as a whole, derived from the states of its recipients. */
export const emailStatuses = [
  'scheduled',
  'queued',
  'processing',
  'delivered',
  'partially_delivered',
  'bounced',
  'complained',
  'suppressed',
  'failed',
  'canceled',
] as const
export type EmailStatus = (typeof emailStatuses)[number]

/** Which states of recipients a status allows, and which it requires. */
interface Rule {
  status: EmailStatus
  /** At least one state of each of these groups must occur. */
  some: string[][]
  /** The only states that may occur; if omitted, any state may. */
  only?: string[]
  /** If the rule applies, one of these occurs. An index finds them, except `delivered`. */
  mark: string[]
}

/** Recipients that were left out from the start, or removed, do not affect what is said about the others. */
const setAside = ['suppressed', 'canceled']
const arrived = ['delivered', 'complained']
const final = [...arrived, 'bounced', 'failed', ...setAside]

const waiting = ['scheduled', 'queued', 'deferred', 'sent']

/** The first rule that applies counts; the last one applies to anything that is not final. */
const rules: Rule[] = [
  { status: 'suppressed', some: [['suppressed']], only: ['suppressed'], mark: ['suppressed'] },
  { status: 'canceled', some: [['canceled']], only: setAside, mark: ['canceled'] },
  { status: 'scheduled', some: [['scheduled']], only: ['scheduled', ...setAside], mark: ['scheduled'] },
  { status: 'queued', some: [['queued']], only: ['queued', ...setAside], mark: ['queued'] },
  { status: 'delivered', some: [['delivered']], only: ['delivered'], mark: ['delivered'] },
  { status: 'complained', some: [['complained']], only: arrived, mark: ['complained'] },
  { status: 'partially_delivered', some: [arrived], only: final, mark: ['bounced', 'failed', 'complained', ...setAside] },
  { status: 'bounced', some: [['bounced']], only: ['bounced', 'failed', ...setAside], mark: ['bounced'] },
  { status: 'failed', some: [['failed']], only: ['failed', ...setAside], mark: ['failed'] },
  { status: 'processing', some: [waiting], mark: waiting },
]

/** The status of an email whose recipients are in these states. */
export function deriveStatus(states: Iterable<string>): EmailStatus {
  const present = new Set(states)
  const fits = ({ some, only }: Rule): boolean =>
    some.every((group) => group.some((state) => present.has(state))) &&
    (only === undefined || [...present].every((state) => only.includes(state)))
  return rules.find(fits)?.status ?? 'processing'
}

/** The same as a condition on a row of `message`, made from the same rules. */
export function statusCondition(status: EmailStatus): string {
  const before = rules.slice(
    0,
    rules.findIndex((rule) => rule.status === status),
  )
  const rule = rules[before.length] as Rule
  const earlier = before.filter((other) => rule.some.every((group) => group.some((state) => other.only?.includes(state))))
  const fits = [ruleCondition(rule), ...earlier.map((other) => `not (${ruleCondition(other)})`)].join(' and ')
  return `(select case when ${fits} then 1 else 0 end from recipient where message_id = message.id) = 1`
}

/**
 * A query for the ids of the messages from `:first` (inclusive) to `:end` (exclusive) that may have a status other than `delivered`; it
 * may return others too. Uses the partial indexes recipient_state, recipient_queued and recipient_owned; the last is small, but not
 * sorted.
 */
export function markedMessages(status: EmailStatus): string {
  const mark = rules.find((rule) => rule.status === status)?.mark ?? []
  const settled = mark.filter((state) => state !== 'queued')
  const inSpan = 'message_id >= :first and message_id < :end'
  const ofSettled = `select message_id from recipient
                      where account_id = :accountId and state in (${quoted(settled)}) and state not in ('queued', 'delivered')
                        and ${inSpan}`
  const ofQueued = `select message_id from recipient where account_id = :accountId and state = 'queued' and owner is null and ${inSpan}
                     union all
                    select message_id from recipient where account_id = :accountId and owner is not null`
  return [...(settled.length > 0 ? [ofSettled] : []), ...(mark.includes('queued') ? [ofQueued] : [])].join(' union all ')
}

/** Over all recipients of a message at once, so that each is read only once. */
function ruleCondition({ some, only }: Rule): string {
  const conditions = some.map((group) => `count(case when state in (${quoted(group)}) then 1 end) > 0`)
  if (only) conditions.push(`count(case when state not in (${quoted(only)}) then 1 end) = 0`)
  return conditions.join(' and ')
}

const quoted = (states: string[]): string => states.map((state) => `'${state}'`).join(', ')

/** The newest event of an email that is shown. */
export interface NewestEvent {
  /** `email.…` */
  type: string
  /** Its data as in the log. */
  data: Record<string, unknown>
}

/** `last_event`: the newest event, in the terms that clients of this kind of API know. */
export function lastEventOf(event: NewestEvent | undefined, status: EmailStatus): string {
  if (event === undefined || event.type === 'email.queued') return status === 'scheduled' ? 'scheduled' : 'queued'
  if (event.type === 'email.deferred') return 'delivery_delayed'
  if (event.type === 'email.relayed') return 'sent'
  if (event.type === 'email.bounced' && event.data.bounce_category === 'suppressed') return 'suppressed'
  if (event.type === 'email.bounced' && event.data.bounce_category === 'internal_error') return 'failed'
  return event.type.slice('email.'.length)
}
