import fc from 'fast-check'
import type { EventType } from '../../src/mail/event/event-type.ts'
import { newId } from '../../src/platform/id.ts'
import type { Database, Statement } from '../../src/platform/store/database.ts'
import { testDatabase } from './test-database.ts'

/** Mail and a log of random events, for what counts them. */
export const accountId = 'acc_one'
const day = 86_400_000
/** Clocks change in this time in New York (1 November) and in Berlin (25 October). */
export const start = Date.UTC(2026, 9, 20)

interface CountedMessage {
  id: string
  accountId: string
  domainId: string | null
  templateId: string | null
  tags: { name: string; value: string }[]
  /** Of its recipients. */
  providers: (string | null)[]
  sandbox: boolean
  createdAt: number
  scheduledAt: number | null
}

const plain = {
  accountId,
  domainId: 'dom_a',
  templateId: null,
  tags: [],
  providers: [null, 'google', 'other'],
  sandbox: false,
  createdAt: start - 300,
  scheduledAt: null,
}
const tag = (name: string, value: string) => ({ name, value })

export const countedMessages: CountedMessage[] = [
  { ...plain, id: 'em_0', domainId: null },
  {
    ...plain,
    id: 'em_1',
    templateId: 'tpl_a',
    tags: [tag('kind', 'invoice'), tag('team', 'b')],
    providers: ['google', 'google', 'microsoft'],
    scheduledAt: start + 5_000,
  },
  { ...plain, id: 'em_2', domainId: 'dom_b', templateId: 'tpl_b', tags: [tag('kind', 'invoice'), tag('campaign', 'spring')] },
  { ...plain, id: 'em_3', templateId: 'tpl_a', tags: [tag('campaign', 'spring')], sandbox: true },
  { ...plain, id: 'em_4', templateId: 'tpl_a', tags: [tag('kind', 'other')], accountId: 'acc_two' },
  {
    ...plain,
    id: 'em_5',
    templateId: 'tpl_a',
    tags: [tag('campaign', 'autumn')],
    providers: ['yahoo', 'apple', 'apple'],
    createdAt: start - 40 * day,
  },
]

/** As in a mail, and as it is counted for a template. */
export const links: [string, string][] = [
  ['https://shop.example/offer?utm_source=x&"bot":true', 'https://shop.example/offer'],
  ['https://shop.example/offer?utm_source=y', 'https://shop.example/offer'],
  ['https://shop.example/unsubscribe/ann%40example.com', 'https://shop.example/unsubscribe/*'],
  ['http://other.example:8080/', 'http://other.example:8080/'],
]

const bounces = {
  bounced_permanent: { bounce_type: 'hard', bounce_category: 'invalid_recipient' },
  bounced_transient: { bounce_type: 'soft', bounce_category: 'mailbox_full' },
  suppressed: { bounce_type: 'hard', bounce_category: 'suppressed' },
  failed: { bounce_type: 'soft', bounce_category: 'internal_error' },
} as const
const types = {
  sent: 'email.sent',
  delivered: 'email.delivered',
  bounced_permanent: 'email.bounced',
  bounced_transient: 'email.bounced',
  suppressed: 'email.bounced',
  failed: 'email.bounced',
  opened: 'email.opened',
  clicked: 'email.clicked',
  rejudged: 'email.rejudged',
  complained: 'email.complained',
  unsubscribed: 'email.unsubscribed',
  delivery_delayed: 'email.deferred',
  queued: 'email.queued',
} satisfies Record<string, EventType>
type Kind = keyof typeof types

/** What happens, before it is known to whom. */
export interface Told {
  kind: Kind
  message: number
  recipient: number
  at: number
  bot: boolean
  link: number
  /** Which of the hits before is judged anew. */
  hit: number
}

export const arbitraryTold: fc.Arbitrary<Told> = fc.record({
  kind: fc.constantFrom<Kind>(...(Object.keys(types) as Kind[]), 'opened', 'clicked', 'clicked', 'rejudged', 'rejudged', 'delivered'),
  message: fc.nat({ max: countedMessages.length - 1 }),
  recipient: fc.nat({ max: 2 }),
  at: fc.integer({ min: start, max: start + 20 * day }),
  bot: fc.boolean(),
  link: fc.nat({ max: links.length - 1 }),
  hit: fc.nat(),
})

/** An event as it stands in the log. */
export interface Logged {
  id: string
  kind: Kind
  message: CountedMessage
  recipient: number
  at: number
  bot: boolean
  link: number
  category: string | null
  /** The event that a verdict is about. */
  about: string | null
}

/** The log after these. A verdict is about some hit before it; without one there is none. */
export function logOf(told: Told[], before: Logged[], messages = countedMessages): Logged[] {
  const log = [...before]
  for (const { hit, ...each } of told) {
    const id = newId('evt', each.at)
    const category = each.kind in bounces ? bounces[each.kind as keyof typeof bounces].bounce_category : null
    const hits = log.filter(({ kind }) => kind === 'opened' || kind === 'clicked')
    const meant = each.kind === 'rejudged' ? hits[hit % Math.max(1, hits.length)] : undefined
    if (each.kind === 'rejudged' && !meant) continue
    log.push({
      ...each,
      id,
      category,
      message: messages[each.message]!,
      about: null,
      ...(meant ? { message: meant.message, recipient: meant.recipient, about: meant.id } : {}),
    })
  }
  return log
}

export const writeLog = (db: Database, log: Logged[]): Promise<unknown> => db.write(log.map(insertEvent))

function insertEvent({ id, kind, message, recipient, at, bot, link, about }: Logged): Statement {
  const own =
    kind in bounces
      ? bounces[kind as keyof typeof bounces]
      : kind === 'rejudged'
        ? { event_id: about, type: 'email.opened', bot: true }
        : { bot, link: links[link]![0] }
  return {
    sql: `insert into event (id, account_id, message_id, recipient_id, type, sandbox, created_at, data)
          values (:id, :accountId, :messageId, :recipientId, :type, :sandbox, :at, :data)`,
    params: {
      id,
      accountId: message.accountId,
      messageId: message.id,
      recipientId: recipientId(message, recipient),
      type: types[kind],
      sandbox: message.sandbox ? 1 : 0,
      at,
      data: JSON.stringify({ email_id: message.id, to: 'a@b.example', subject: 'with "bounce_category":"suppressed" in it', ...own }),
    },
  }
}

const recipientId = ({ id }: CountedMessage, recipient: number): string => `rcp_${id}_${recipient}`

/** A store with these messages and their recipients. */
export async function startCountedStore(store?: Database, messages = countedMessages): Promise<Database> {
  const db = store ?? (await testDatabase())
  await db.write([
    ...['acc_one', 'acc_two'].map((id) => ({
      sql: `insert into account (id, name, plan, status, created_at) values (:id, :id, 'free', 'active', 0)`,
      params: { id },
    })),
    ...messages.flatMap((message) => [
      insertMessage(message),
      ...message.providers.map((provider, place) => insertRecipient(message, provider, place)),
    ]),
  ])
  return db
}

const insertMessage = ({ id, accountId: of, domainId, templateId, tags, sandbox, createdAt, scheduledAt }: CountedMessage): Statement => ({
  sql: `insert into message (id, account_id, domain_id, template_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject,
                             message_id_header, size, body_type, smtputf8, tags, metadata, created_at, scheduled_at)
        values (:id, :of, :domainId, :templateId, 'api', :sandbox, '', '[]', '[]', '[]', '', '', 0, '7bit', 0, :tags, '{}', :createdAt, :scheduledAt)`,
  params: { id, of, domainId, templateId, sandbox: sandbox ? 1 : 0, tags: JSON.stringify(tags), createdAt, scheduledAt },
})

/** Whether mail to it went over TLS; null: not recorded. */
export const encryptedOf = (provider: string | null): number | null => (provider === null ? null : provider === 'other' ? 0 : 1)

const insertRecipient = (message: CountedMessage, provider: string | null, place: number): Statement => ({
  sql: `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, expires_at, provider, encrypted)
        values (:id, :messageId, :of, 'a@b.example', 'b.example', 'to', 'delivered', 0, :provider, :encrypted)`,
  params: { id: recipientId(message, place), messageId: message.id, of: message.accountId, provider, encrypted: encryptedOf(provider) },
})
