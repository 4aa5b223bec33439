import type { WebhookEventType } from '../../../mail/event/event-type.ts'
import { domainOf } from '../../../platform/smtp/address.ts'
import {
  bareMessageId,
  happenedAt,
  isHard,
  isSuppressed,
  labelsOf,
  numberIn,
  textIn,
  withoutNulls,
  type EventDetails,
} from '../event-details.ts'

/** What Mailgun calls each event. */
export const mailgunNames: Record<WebhookEventType, string> = {
  'email.sent': 'accepted',
  'email.delivered': 'delivered',
  'email.deferred': 'failed',
  'email.bounced': 'failed',
  'email.opened': 'opened',
  'email.clicked': 'clicked',
  'email.complained': 'complained',
  'email.unsubscribed': 'unsubscribed',
}

/** Mailgun's `event-data`, the same in its webhooks and its Events API. */
export const mailgunEvent = (event: EventDetails): object => ({
  id: event.id,
  timestamp: happenedAt(event) / 1000,
  event: mailgunNames[event.type],
  ...ownMembers(event),
  recipient: event.data['to'],
  'recipient-domain': domainOf(String(event.data['to'])),
  tags: labelsOf(event),
  'user-variables': event.message.metadata,
  campaigns: [],
  flags: { 'is-authenticated': true, 'is-routed': false, 'is-system-test': false, 'is-test-mode': event.sandbox },
  message: {
    headers: withoutNulls({
      to: event.data['to'],
      from: event.message.from,
      subject: event.data['subject'],
      'message-id': bareMessageId(event),
    }),
    attachments: [],
    size: event.message.size,
  },
})

function ownMembers(event: EventDetails): Record<string, unknown> {
  switch (event.type) {
    case 'email.sent':
      return { 'log-level': 'info', method: 'HTTP' }
    case 'email.delivered':
      return { 'log-level': 'info', 'delivery-status': deliveryStatus(event, event.recipient.lastResponse) }
    case 'email.deferred': {
      const wait = (Date.parse(textIn(event, 'next_attempt_at') ?? '') - happenedAt(event)) / 1000
      return {
        ...failure('temporary', 'generic'),
        'delivery-status': { ...deliveryStatus(event, textIn(event, 'reason')), 'retry-seconds': Math.round(wait) },
      }
    }
    case 'email.bounced':
      return {
        ...failure('permanent', reasonOf(event)),
        'delivery-status': { ...deliveryStatus(event, textIn(event, 'reason')), 'bounce-type': textIn(event, 'bounce_type') },
      }
    case 'email.opened':
      return { 'log-level': 'info', ...client(event) }
    case 'email.clicked':
      return { 'log-level': 'info', url: textIn(event, 'link'), ...client(event) }
    case 'email.complained':
      return { 'log-level': 'warn' }
    case 'email.unsubscribed':
      return { 'log-level': 'warn' }
  }
}

/** `permanent` means no further attempts, even after only temporary refusals. */
const failure = (severity: 'temporary' | 'permanent', reason: string) => ({
  'log-level': severity === 'permanent' ? 'error' : 'warn',
  severity,
  reason,
})

function reasonOf(event: EventDetails): string {
  if (isSuppressed(event)) return 'suppress-bounce'
  if (textIn(event, 'bounce_category') === 'expired') return 'old'
  return isHard(event) ? 'bounce' : 'generic'
}

const deliveryStatus = (event: EventDetails, message: string | null) =>
  withoutNulls({
    code: numberIn(event, 'smtp_code') ?? codeOf(message),
    'enhanced-code': textIn(event, 'enhanced_status'),
    message: message ?? '',
    description: '',
    'attempt-no': event.recipient.attempts,
  })

/** The code at the start of a reply. A deferral need not come from a server. */
const codeOf = (reply: string | null): number | null => {
  const [, code] = /^([245]\d\d)[ -]/.exec(reply ?? '') ?? []
  return code === undefined ? null : Number(code)
}

const client = (event: EventDetails) => ({
  ip: textIn(event, 'ip_address') ?? '',
  'client-info': { 'user-agent': textIn(event, 'user_agent') ?? '' },
})
