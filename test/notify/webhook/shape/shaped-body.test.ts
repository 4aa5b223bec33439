import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { newId, numberOfId } from '../../../../src/platform/id.ts'
import { labelTag } from '../../../../src/mail/message/send-limits.ts'
import { webhookEventTypes, type WebhookEventType } from '../../../../src/mail/event/event-type.ts'
import { postedEvents } from '../../../../src/mail/event/posted-event.ts'
import { serviceShapes, type ServiceShape } from '../../../../src/notify/webhook/payload-kind.ts'
import { shapedBody } from '../../../../src/notify/webhook/shape/shaped-body.ts'
import { timeMember, type EventDetails } from '../../../../src/notify/webhook/event-details.ts'
import { sortFields } from '../../../support/sort-fields.ts'

const at = Date.parse('2026-11-23T10:00:00.250Z')
const id = newId('evt', at)
const recipientId = newId('rcp', at)

/** Where it matters what the sample does not say. */
const ownData: Partial<Record<WebhookEventType, EventDetails['data']>> = {
  'email.clicked': { link: 'https://shop.example/a?b=c', ip_address: null, user_agent: null, bot: true },
  'email.bounced': { ...postedEvents['email.bounced'].sample(), reason: '550 5.1.1 No such user' },
  'email.deferred': { next_attempt_at: '2026-11-23T10:05:00.250Z', reason: '451 4.7.1 Greylisted' },
}

interface Changes {
  data?: EventDetails['data']
  message?: Partial<EventDetails['message']>
  recipient?: Partial<EventDetails['recipient']>
}

const told = (type: WebhookEventType, { data, message, recipient }: Changes = {}): EventDetails => ({
  id,
  type,
  sandbox: false,
  data: {
    email_id: 'em_1',
    to: 'ann@example.com',
    subject: 'Hello',
    [timeMember(type)]: '2026-11-23T10:00:00.250Z',
    ...(ownData[type] ?? postedEvents[type].sample(at)),
    ...data,
  },
  message: {
    from: '"App" <app@sender.example>',
    messageIdHeader: '<1@sender.example>',
    tags: [
      { name: 'welcome', value: 'true' },
      { name: 'campaign', value: 'spring' },
    ],
    metadata: { order: '7' },
    unsubscribeTopic: null,
    size: 700,
    createdAt: at - 1_000,
    ...message,
  },
  recipient: { id: recipientId, type: 'to', lastResponse: '250 2.0.0 Ok', attempts: 2, deliveredAt: null, openedAt: at, ...recipient },
})

const bodyOf = (shape: ServiceShape, type: WebhookEventType, changes?: Changes): any =>
  JSON.parse(shapedBody(shape, told(type, changes)) ?? 'null')

const soft = (bounce_category: string) => ({ data: { bounce_type: 'soft', bounce_category, smtp_code: 550, enhanced_status: '5.7.1' } })
const suppressed = { data: { bounce_category: 'suppressed', smtp_code: null, enhanced_status: null, reason: 'On the list.' } }

test.each(serviceShapes)('%s: events within a second, or a millisecond, sort by a field', (shape) => {
  const bodies = webhookEventTypes.map((type) => shapedBody(shape, { ...told(type), id: newId('evt', at) })).filter((body) => body !== null)
  const fields = bodies.map((body) => sortFields[shape](JSON.parse(body))[1])
  expect(new Set(fields).size).toBe(fields.length)
  expect(fields.toSorted()).toEqual(fields)
})

test.each(['webhooks', 'migrating'])('docs/%s.md has a row for each service', (page) => {
  const text = readFileSync(new URL(`../../../../docs/${page}.md`, import.meta.url), 'utf8')
  expect(serviceShapes.filter((shape) => !text.includes(`\n| \`${shape}\` |`))).toEqual([])
})

test('SendGrid: what every event says, custom arguments beside it, and none in the place of a member of its own', () => {
  const [event, second] = bodyOf('sendgrid', 'email.delivered', { message: { metadata: { order: '7', event: 'mine', email: 'x' } } })
  expect(second).toBeUndefined()
  expect(event).toEqual({
    order: '7',
    email: 'ann@example.com',
    timestamp: 1_795_428_000,
    'smtp-id': '<1@sender.example>',
    category: ['welcome', 'campaign=spring'],
    sg_event_id: id,
    sg_message_id: 'em_1',
    event: 'delivered',
    response: '250 2.0.0 Ok',
  })
})

test.each<[WebhookEventType, Changes, object]>([
  ['email.sent', {}, { event: 'processed' }],
  ['email.deferred', {}, { event: 'deferred', response: '451 4.7.1 Greylisted', attempt: '2' }],
  [
    'email.bounced',
    {},
    {
      event: 'bounce',
      type: 'bounce',
      status: '5.1.1',
      reason: '550 5.1.1 No such user',
      bounce_classification: 'Invalid Address',
    },
  ],
  ['email.bounced', soft('mailbox_full'), { event: 'bounce', type: 'blocked', bounce_classification: 'Mailbox Unavailable' }],
  ['email.bounced', soft('policy'), { event: 'bounce', type: 'blocked', bounce_classification: 'Unclassified' }],
  ['email.bounced', suppressed, { event: 'dropped', reason: 'On the list.' }],
  ['email.opened', {}, { event: 'open', ip: '192.0.2.1', useragent: 'Mozilla/5.0', sg_machine_open: false }],
  ['email.clicked', {}, { event: 'click', url: 'https://shop.example/a?b=c' }],
  ['email.complained', {}, { event: 'spamreport' }],
  ['email.unsubscribed', { message: { unsubscribeTopic: '' } }, { event: 'unsubscribe' }],
  ['email.unsubscribed', { message: { unsubscribeTopic: '17' } }, { event: 'group_unsubscribe', asm_group_id: 17 }],
])('SendGrid: %s %j', (type, changes, expected) => {
  const [{ order: _, email, timestamp, 'smtp-id': smtpId, category, sg_event_id: eventId, sg_message_id: messageId, ...own }] = bodyOf(
    'sendgrid',
    type,
    changes,
  )
  expect([email, timestamp, smtpId, category, eventId, messageId].every((value) => value !== undefined)).toBe(true)
  if ('status' in expected || own.event !== 'bounce') expect(own).toEqual(expected)
  else expect(own).toMatchObject(expected)
})

test.each<[WebhookEventType, Changes, object | null]>([
  ['email.sent', {}, null],
  ['email.bounced', suppressed, null],
  [
    'email.delivered',
    {},
    { RecordType: 'Delivery', Recipient: 'ann@example.com', DeliveredAt: '2026-11-23T10:00:00.250Z', Details: '250 2.0.0 Ok' },
  ],
  [
    'email.bounced',
    {},
    {
      RecordType: 'Bounce',
      ID: numberOfId(id),
      Type: 'HardBounce',
      TypeCode: 1,
      Email: 'ann@example.com',
      From: '"App" <app@sender.example>',
      BouncedAt: '2026-11-23T10:00:00.250Z',
      Details: '550 5.1.1 No such user',
      Subject: 'Hello',
      Inactive: true,
      CanActivate: true,
      DumpAvailable: false,
    },
  ],
  ['email.bounced', soft('mailbox_full'), { RecordType: 'Bounce', Type: 'SoftBounce', TypeCode: 4096, Inactive: false }],
  ['email.bounced', soft('content_rejected'), { Type: 'SpamNotification', TypeCode: 512 }],
  ['email.bounced', soft('reputation'), { Type: 'Blocked', TypeCode: 100_006 }],
  ['email.bounced', soft('other'), { Type: 'Unknown', TypeCode: 2048 }],
  ['email.deferred', {}, { RecordType: 'Bounce', Type: 'Transient', TypeCode: 2, Inactive: false, Details: '451 4.7.1 Greylisted' }],
  ['email.complained', {}, { RecordType: 'SpamComplaint', Type: 'SpamComplaint', Inactive: true }],
  [
    'email.opened',
    {},
    { RecordType: 'Open', FirstOpen: true, ReceivedAt: '2026-11-23T10:00:00.250Z', UserAgent: 'Mozilla/5.0', Geo: { IP: '192.0.2.1' } },
  ],
  ['email.opened', { recipient: { openedAt: at - 1 } }, { FirstOpen: false }],
  ['email.clicked', {}, { RecordType: 'Click', OriginalLink: 'https://shop.example/a?b=c', ClickLocation: 'HTML', Geo: {} }],
  [
    'email.unsubscribed',
    {},
    { RecordType: 'SubscriptionChange', SuppressSending: true, SuppressionReason: 'ManualSuppression', Origin: 'Recipient' },
  ],
])('Postmark: %s %j', (type, changes, expected) => {
  const body = bodyOf('postmark', type, changes)
  if (expected === null) return expect(body).toBeNull()
  expect(body).toMatchObject({ MessageID: 'em_1', MessageStream: 'outbound', Tag: 'welcome', Metadata: { order: '7' }, ...expected })
})

test('Mailgun: what every event says', () => {
  expect(bodyOf('mailgun', 'email.delivered')).toEqual({
    id,
    timestamp: 1_795_428_000.25,
    event: 'delivered',
    'log-level': 'info',
    'delivery-status': { code: 250, message: '250 2.0.0 Ok', description: '', 'attempt-no': 2 },
    recipient: 'ann@example.com',
    'recipient-domain': 'example.com',
    tags: ['welcome', 'campaign=spring'],
    'user-variables': { order: '7' },
    campaigns: [],
    flags: { 'is-authenticated': true, 'is-routed': false, 'is-system-test': false, 'is-test-mode': false },
    message: {
      headers: { to: 'ann@example.com', from: '"App" <app@sender.example>', subject: 'Hello', 'message-id': '1@sender.example' },
      attachments: [],
      size: 700,
    },
  })
})

test.each<[WebhookEventType, Changes, object]>([
  ['email.sent', {}, { event: 'accepted' }],
  [
    'email.deferred',
    {},
    {
      event: 'failed',
      severity: 'temporary',
      reason: 'generic',
      'delivery-status': { code: 451, message: '451 4.7.1 Greylisted', 'retry-seconds': 300 },
    },
  ],
  [
    'email.bounced',
    {},
    {
      event: 'failed',
      severity: 'permanent',
      reason: 'bounce',
      'delivery-status': { code: 550, 'enhanced-code': '5.1.1', message: '550 5.1.1 No such user', 'bounce-type': 'hard' },
    },
  ],
  ['email.bounced', soft('policy'), { severity: 'permanent', reason: 'generic', 'delivery-status': { 'bounce-type': 'soft' } }],
  ['email.bounced', soft('expired'), { severity: 'permanent', reason: 'old' }],
  ['email.bounced', suppressed, { severity: 'permanent', reason: 'suppress-bounce' }],
  ['email.opened', {}, { event: 'opened', ip: '192.0.2.1', 'client-info': { 'user-agent': 'Mozilla/5.0' } }],
  ['email.clicked', {}, { event: 'clicked', url: 'https://shop.example/a?b=c' }],
  ['email.complained', {}, { event: 'complained' }],
  ['email.unsubscribed', {}, { event: 'unsubscribed' }],
])('Mailgun: %s %j', (type, changes, expected) => {
  expect(bodyOf('mailgun', type, changes)).toMatchObject(expected)
})

test.each<[WebhookEventType, Changes, string, object]>([
  ['email.sent', {}, 'email.sent', {}],
  ['email.delivered', {}, 'email.delivered', {}],
  ['email.deferred', {}, 'email.delivery_delayed', {}],
  ['email.bounced', {}, 'email.bounced', { bounce: { type: 'Permanent', subType: 'NoEmail', message: '550 5.1.1 No such user' } }],
  [
    'email.bounced',
    soft('mailbox_full'),
    'email.bounced',
    { bounce: { type: 'Transient', subType: 'MailboxFull', message: '550 5.1.1 No such user' } },
  ],
  ['email.bounced', suppressed, 'email.suppressed', { suppressed: { message: 'On the list.', type: 'OnAccountSuppressionList' } }],
  ['email.bounced', soft('internal_error'), 'email.failed', { failed: { reason: '550 5.1.1 No such user' } }],
  ['email.opened', {}, 'email.opened', {}],
  [
    'email.clicked',
    {},
    'email.clicked',
    { click: { link: 'https://shop.example/a?b=c', timestamp: '2026-11-23T10:00:00.250Z', ipAddress: '', userAgent: '' } },
  ],
  ['email.complained', {}, 'email.complained', {}],
])('Resend: %s %j', (type, changes, name, own) => {
  expect(bodyOf('resend', type, changes)).toEqual({
    type: name,
    id,
    created_at: '2026-11-23T10:00:00.250Z',
    data: {
      created_at: '2026-11-23T09:59:59.250Z',
      email_id: 'em_1',
      message_id: '<1@sender.example>',
      from: '"App" <app@sender.example>',
      to: ['ann@example.com'],
      subject: 'Hello',
      tags: { welcome: 'true', campaign: 'spring' },
      ...own,
    },
  })
})

const postalMessage = {
  id: numberOfId(recipientId),
  token: recipientId,
  direction: 'outgoing',
  message_id: '1@sender.example',
  to: 'ann@example.com',
  from: '"App" <app@sender.example>',
  subject: 'Hello',
  timestamp: 1_795_427_999.25,
  spam_status: 'NotChecked',
  tag: 'welcome',
}

test.each<[WebhookEventType, Changes, string, object]>([
  ['email.delivered', {}, 'MessageSent', { status: 'Sent', output: '250 2.0.0 Ok', timestamp: 1_795_428_000.25, message: postalMessage }],
  ['email.deferred', {}, 'MessageDelayed', { status: 'SoftFail', output: '451 4.7.1 Greylisted', message: postalMessage }],
  ['email.bounced', {}, 'MessageDeliveryFailed', { status: 'HardFail', output: '550 5.1.1 No such user', message: postalMessage }],
  ['email.bounced', suppressed, 'MessageHeld', { status: 'Held', details: 'On the list.', message: postalMessage }],
  [
    'email.bounced',
    { recipient: { deliveredAt: at - 1 } },
    'MessageBounced',
    { original_message: postalMessage, bounce: { id: numberOfId(id), direction: 'incoming', subject: '550 5.1.1 No such user' } },
  ],
  ['email.opened', {}, 'MessageLoaded', { ip_address: '192.0.2.1', user_agent: 'Mozilla/5.0', message: postalMessage }],
  ['email.clicked', {}, 'MessageLinkClicked', { url: 'https://shop.example/a?b=c', message: postalMessage }],
])('Postal: %s %j', (type, changes, event, payload) => {
  const uuid = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  expect(bodyOf('postal', type, changes)).toMatchObject({ event, timestamp: 1_795_428_000.25, uuid, payload })
})

test.each<[ServiceShape, WebhookEventType]>([
  ['resend', 'email.unsubscribed'],
  ['postal', 'email.sent'],
  ['postal', 'email.complained'],
  ['postal', 'email.unsubscribed'],
])('%s has no word for %s', (shape, type) => {
  expect(shapedBody(shape, told(type))).toBeNull()
})

test('a message that is gone leaves out what only it knew', () => {
  const gone = { message: { from: null, messageIdHeader: null, tags: [], metadata: {} } }
  expect(bodyOf('sendgrid', 'email.delivered', gone)[0]).not.toHaveProperty('smtp-id')
  expect(bodyOf('mailgun', 'email.delivered', gone).message.headers).toEqual({ to: 'ann@example.com', subject: 'Hello' })
})

test('a tag that was made of a label is that label again', () => {
  const tags = ['welcome', 'Password reset', '¡Hola!', '!'].map(labelTag)
  expect(bodyOf('mailgun', 'email.delivered', { message: { tags: [...tags, { name: 'kind', value: 'a b' }] } }).tags).toEqual([
    'welcome',
    'Password reset',
    '¡Hola!',
    '!',
    'kind=a b',
  ])
})
