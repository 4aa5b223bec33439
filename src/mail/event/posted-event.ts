import { isoTime } from '../../platform/iso-time.ts'
import type { WebhookEventType } from './event-type.ts'

interface PostedEvent {
  /** What happened, for docs/webhooks.md. */
  when: string
  /** The members of its own in `data` of an invented event, besides its time. */
  sample(at: number): Record<string, string | number | boolean | null>
}

const reader = { ip_address: '192.0.2.1', user_agent: 'Mozilla/5.0', bot: false }

/** The events that webhooks can get. */
export const postedEvents = {
  'email.sent': {
    when: "an attempt to hand the email to the recipient's host began",
    sample: () => ({}),
  },
  'email.delivered': {
    when: 'that host took responsibility for it (`250`)',
    sample: () => ({}),
  },
  'email.opened': {
    when: 'somebody opened it; see [tracking.md](tracking.md) for how machines are told apart',
    sample: () => reader,
  },
  'email.clicked': {
    when: 'somebody followed a link in it; machines are told apart here, too',
    sample: () => ({ link: 'https://example.com/', ...reader }),
  },
  'email.bounced': {
    when: 'it will not be delivered: suppressed, refused, given up, or returned later',
    sample: () => ({
      bounce_type: 'hard',
      bounce_category: 'invalid_recipient',
      smtp_code: 550,
      enhanced_status: '5.1.1',
      reason: '550 5.1.1 The mailbox does not exist',
    }),
  },
  'email.complained': {
    when: 'the recipient reported it as spam',
    sample: () => ({ feedback_type: 'abuse', reported_by: null }),
  },
  'email.unsubscribed': {
    when: 'the recipient unsubscribed',
    sample: () => ({ method: 'one_click' }),
  },
  'email.deferred': {
    when: 'an attempt failed, and another one follows',
    sample: (at) => ({ next_attempt_at: isoTime(at + 60_000), reason: '451 4.7.1 Try again later' }),
  },
} as const satisfies Record<WebhookEventType, PostedEvent>
