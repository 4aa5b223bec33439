import fc from 'fast-check'
import { publicEventTypes, type EventType, type PublicEventType } from '../../src/mail/event/event-type.ts'
import { newId } from '../../src/platform/id.ts'
import { deriveStatus, emailStatuses } from '../../src/mail/message/email-status.ts'
import type { MessageFilter, SoughtAddress } from '../../src/mail/message/message-filter.ts'
import { recipientStates, type RecipientState } from '../../src/mail-out/queue/recipient-state.ts'
import { endPattern, partPattern } from '../../src/mail/message/text-pattern.ts'
import type { Statement } from '../../src/platform/store/database.ts'

/** Times are few, so that many things happen at the same one, and go forward and back. */
const times = fc.integer({ min: 1, max: 9 }).map((n) => n * 60_000)
const addresses = ['ann@a.example', 'Ann@A.example', 'bob@a.example', 'éve@b.example'] as const
const authors = ['app@s.example', 'news@s.example'] as const
const domains = ['dom_1', 'dom_2'] as const
const subjects = ['Your order 1', 'Your ORDER 12', '100% off', 'Überprüfung', 'BESTÄTIGUNG'] as const
const tags = [
  { name: 'kind', value: 'a' },
  { name: 'kind', value: 'b' },
  { name: 'team', value: 'a' },
] as const

const arbitraryRecipient = fc.record({
  address: fc.constantFrom(...addresses),
  state: fc.constantFrom<RecipientState>(...recipientStates),
  inHand: fc.boolean(),
  later: fc.array(fc.record({ type: fc.constantFrom<PublicEventType>(...publicEventTypes), at: times }), { maxLength: 2 }),
})

const arbitraryMail = fc.record({
  account: fc.constantFrom('one', 'one', 'one', 'two'),
  sandbox: fc.constantFrom(false, false, false, true),
  mintedAt: times,
  acceptedAt: times,
  author: fc.option(fc.constantFrom(...authors)),
  domainId: fc.option(fc.constantFrom(...domains)),
  tag: fc.option(fc.constantFrom(...tags)),
  subject: fc.constantFrom(...subjects),
  recipients: fc.array(arbitraryRecipient, { minLength: 1, maxLength: 3 }),
})

/** Mail in the order in which it was accepted; its ids may be in another one. */
export const arbitraryMails = fc.array(arbitraryMail, { minLength: 6, maxLength: 16 })

/** Up to two conditions at a time: more hardly ever meet. */
export const upToTwo = <F extends object>(conditions: { [K in keyof F]: fc.Arbitrary<F[K]> }): fc.Arbitrary<{
  [K in keyof F]: F[K] | null
}> => {
  const names = Object.keys(conditions) as (keyof F)[]
  return fc.tuple(fc.record<F>(conditions), fc.subarray(names, { maxLength: 2 })).map(([all, chosen]) => {
    const entries = names.map((name) => [name, chosen.includes(name) ? all[name] : null])
    return Object.fromEntries(entries) as { [K in keyof F]: F[K] | null }
  })
}

export const arbitraryFilter: fc.Arbitrary<MessageFilter> = upToTwo<{ [K in keyof MessageFilter]: NonNullable<MessageFilter[K]> }>({
  status: fc.subarray([...emailStatuses], { minLength: 1, maxLength: 3 }),
  to: fc.constantFrom<SoughtAddress>(
    ...['ANN@a.example', 'bob@a.example', 'éve@b.example', 'nobody@a.example'].map((address) => ({ address })),
    ...['NN@A', 'bob', 'o_b', '%', 'to:'].map((part) => ({ pattern: partPattern(part) })),
    { pattern: endPattern('@b.example') },
  ),
  from: fc.constantFrom<SoughtAddress>(
    ...['app@S.example', 'news@s.example', 'nobody@s.example'].map((address) => ({ address })),
    ...['APP', 's.e', 'a_p'].map((part) => ({ pattern: partPattern(part) })),
  ),
  subject: fc.constantFrom('order 1', 'ORDER', '0% o', '0_', 'überprüfung', 'bestätigung', 'nothing'),
  messageIdHeader: fc.constantFrom('<ann@a.example>', '<Your order 1>'),
  domainId: fc.constantFrom(...domains),
  tag: fc.constantFrom({ name: 'kind', value: 'a' }, { name: 'kind', value: null }, { name: 'x', value: null }),
  since: times,
  until: times,
})

export type Mail = typeof arbitraryMail extends fc.Arbitrary<infer M> ? M & { id: string; accountId: string } : never

export interface LoggedEvent {
  seq: number
  mail: Mail
  address: string
  type: EventType
  at: number
}

const accountNamed = (name: string): Statement => ({
  sql: `insert into account (id, name, plan, status, created_at) values (:name, :name, 'free', 'active', 0)`,
  params: { name },
})

/** Equal in ASCII, whatever the case. */
export const isSameAddress = (one: string, other: string): boolean => {
  const folded = (text: string): string => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
  return folded(one) === folded(other)
}

/** Whether an address is the one that is sought, or has that part; the pattern is taken for the text between its wildcards. */
const isSought = (address: string, sought: SoughtAddress): boolean => {
  if ('address' in sought) return isSameAddress(address, sought.address)
  const part = sought.pattern.replace(/^%|%$/g, '').replaceAll('!', '')
  return sought.pattern.endsWith('%') ? address.toLowerCase().includes(part) : address.toLowerCase().endsWith(part)
}

export function isMeant(mail: Mail, { status, to, from, subject, messageIdHeader, domainId, tag, since, until }: MessageFilter): boolean {
  return (
    (status === null || status.includes(deriveStatus(mail.recipients.map(({ state }) => state)))) &&
    (to === null || mail.recipients.some(({ address }) => isSought(address, to))) &&
    (from === null || (mail.author !== null && isSought(mail.author, from))) &&
    (subject === null || mail.subject.toLowerCase().includes(subject.toLowerCase())) &&
    (messageIdHeader === null || messageIdHeader === `<${mail.subject}>`) &&
    (domainId === null || mail.domainId === domainId) &&
    (tag === null || (mail.tag?.name === tag.name && (tag.value === null || mail.tag.value === tag.value))) &&
    (since === null || mail.acceptedAt >= since) &&
    (until === null || mail.acceptedAt < until)
  )
}

/**
 * What writes mail and its events, as if it had gone its way, in accounts of its own.
 * @param name is in the names of its accounts
 * @param place in the log behind which its events are, with wide gaps
 */
export function mailWritten(name: string, mails: (typeof arbitraryMail extends fc.Arbitrary<infer M> ? M : never)[], place: number) {
  const batch: Statement[] = ['one', 'two'].map((account) => accountNamed(`acc_${name}_${account}`))
  const written: Mail[] = []
  const log: LoggedEvent[] = []
  for (const made of mails) {
    const mail: Mail = { ...made, id: newId('em', Math.min(made.mintedAt, made.acceptedAt)), accountId: `acc_${name}_${made.account}` }
    written.push(mail)
    batch.push(...rowsOf(mail))
    for (const recipient of mail.recipients) {
      const id = newId('rcp', mail.mintedAt)
      batch.push(rowOf(mail, recipient, id))
      for (const { type, at } of eventsOf(mail, recipient)) {
        const seq = place + (log.length + 1) * 400
        log.push({ seq, mail, address: recipient.address, type, at })
        batch.push({
          sql: `insert into event (seq, id, account_id, message_id, recipient_id, type, sandbox, created_at, data)
                values (:seq, :eventId, :accountId, :mailId, :id, :type, :sandbox, :at, '{}')`,
          params: {
            seq,
            eventId: newId('evt', at),
            accountId: mail.accountId,
            mailId: mail.id,
            id,
            type,
            sandbox: mail.sandbox ? 1 : 0,
            at,
          },
        })
      }
    }
  }
  return { batch, mails: written, log }
}

function rowsOf({ id, accountId, sandbox, author, domainId, tag, subject, acceptedAt }: Mail): Statement[] {
  const message: Statement = {
    sql: `insert into message (id, account_id, domain_id, source, sandbox, author, header_from, header_to, header_cc, reply_to, subject,
                               message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
          values (:id, :accountId, :domainId, 'api', :sandbox, :author, '', '[]', '[]', '[]', :subject, '<' || :subject || '>', 0, '7bit', 0, '[]', '{}', :acceptedAt)`,
    params: { id, accountId, domainId, sandbox: sandbox ? 1 : 0, author, subject, acceptedAt },
  }
  if (!tag) return [message]
  const sql = 'insert into message_tag (account_id, name, value, message_id) values (:accountId, :name, :value, :id)'
  return [message, { sql, params: { id, accountId, ...tag } }]
}

type Recipient = Mail['recipients'][number]

const rowOf = (mail: Mail, { address, state, inHand }: Recipient, id: string): Statement => {
  const isWaiting = ['scheduled', 'queued', 'deferred'].includes(state)
  return {
    sql: `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, due_at, owner, expires_at)
          values (:id, :mailId, :accountId, :address, 'a.example', 'to', :state, :dueAt, :owner, 0)`,
    params: {
      id,
      mailId: mail.id,
      accountId: mail.accountId,
      address,
      state,
      dueAt: isWaiting ? 1 : null,
      owner: isWaiting && inHand ? 'boot' : null,
    },
  }
}

const eventsOf = ({ acceptedAt }: Mail, { state, later }: Recipient): { type: EventType; at: number }[] => [
  { type: 'email.queued', at: acceptedAt },
  ...(state === 'delivered' || state === 'complained' ? [{ type: 'email.delivered' as const, at: acceptedAt }] : []),
  ...later,
]
