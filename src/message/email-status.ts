/** What an email as a whole has come to; derived from where its recipients stand. */
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

/** Which states of recipients a status allows, and of which it demands one each. */
interface Rule {
  status: EmailStatus
  /** One of each of these groups must occur. */
  some: string[][]
  /** The only states that may occur; where it is left out, any state may. */
  only?: string[]
  /** One of these occurs wherever the rule fits, and an index leads to it; left out where there may be none. */
  mark?: string[]
}

/** Recipients that were left out from the start, or taken out, do not change what is said of the others. */
const setAside = ['suppressed', 'canceled']
const arrived = ['delivered', 'complained']
const final = [...arrived, 'bounced', 'failed', ...setAside]

/** The first rule that fits counts; the last one fits whatever is not final. */
const rules: Rule[] = [
  { status: 'suppressed', some: [['suppressed']], only: ['suppressed'], mark: ['suppressed'] },
  { status: 'canceled', some: [['canceled']], only: setAside, mark: ['canceled'] },
  { status: 'scheduled', some: [['scheduled']], only: ['scheduled', ...setAside], mark: ['scheduled'] },
  { status: 'queued', some: [['queued']], only: ['queued', ...setAside] },
  { status: 'delivered', some: [['delivered']], only: ['delivered'] },
  { status: 'complained', some: [['complained']], only: arrived, mark: ['complained'] },
  { status: 'partially_delivered', some: [arrived], only: final, mark: ['bounced', 'failed', 'complained', ...setAside] },
  { status: 'bounced', some: [['bounced']], only: ['bounced', 'failed', ...setAside], mark: ['bounced'] },
  { status: 'failed', some: [['failed']], only: ['failed', ...setAside], mark: ['failed'] },
  { status: 'processing', some: [] },
]

/** The status of an email whose recipients are in these states. */
export function deriveStatus(states: Iterable<string>): EmailStatus {
  const present = new Set(states)
  const fits = ({ some, only }: Rule): boolean =>
    some.every((group) => group.some((state) => present.has(state))) &&
    (only === undefined || [...present].every((state) => only.includes(state)))
  return rules.find(fits)?.status ?? 'processing'
}

/** The same as a condition on the row `message`, from the same rules. Uses the partial index recipient_state. */
export function statusCondition(status: EmailStatus): string {
  const before = rules.slice(0, rules.findIndex((rule) => rule.status === status))
  const rule = rules[before.length] as Rule
  const earlier = rule.only === undefined ? before : before.filter((other) => other.only?.some((state) => rule.only?.includes(state)))
  return [markCondition(rule), ruleCondition(rule), ...earlier.map((other) => `not (${ruleCondition(other)})`)].join(' and ')
}

function markCondition({ mark }: Rule): string {
  if (!mark) return '1 = 1'
  return `id in (select message_id from recipient where account_id = :accountId and state in (${quoted(mark)}) and state not in ('queued', 'delivered'))`
}

function ruleCondition({ some, only }: Rule): string {
  const has = (condition: string): string => `exists (select 1 from recipient where message_id = message.id and ${condition})`
  const conditions = some.map((group) => has(`state in (${quoted(group)})`))
  if (only) conditions.push(`not ${has(`state not in (${quoted(only)})`)}`)
  return conditions.length === 0 ? '1 = 1' : conditions.join(' and ')
}

const quoted = (states: string[]): string => states.map((state) => `'${state}'`).join(', ')

/** The newest event that is told of an email. */
export interface NewestEvent {
  /** `email.…` */
  type: string
  /** Its data as the log has them. */
  data: Record<string, unknown>
}

/** `last_event`: the newest event in the words that clients of this kind of API know. */
export function lastEventOf(event: NewestEvent | undefined, status: EmailStatus): string {
  if (event === undefined || event.type === 'email.queued') return status === 'scheduled' ? 'scheduled' : 'queued'
  if (event.type === 'email.deferred') return 'delivery_delayed'
  if (event.type === 'email.relayed') return 'sent'
  if (event.type === 'email.bounced' && event.data.bounce_category === 'suppressed') return 'suppressed'
  if (event.type === 'email.bounced' && event.data.bounce_category === 'internal_error') return 'failed'
  return event.type.slice('email.'.length)
}
