import { isoTime } from '../../platform/iso-time.ts'

/** An event that is shown only in the log of its email. */
interface LoggedEvent {
  audience: 'log'
  /** What the dashboard calls it. */
  words: { en: string; de: string }
  /** The dashboard's icon for it, and its tone. */
  look: readonly [icon: string, tone: string]
}

/** An event that webhooks can get. */
interface PostedEvent extends Omit<LoggedEvent, 'audience'> {
  /** `account`: also in the account's feed, and for webhooks that name no events. `webhooks`: only for webhooks that name it. */
  audience: 'account' | 'webhooks'
  /** What happened, for docs/webhooks.md. */
  when: string
  /** The members of its own in `data` of an invented event, besides its time. */
  sample(at: number): Record<string, string | number | boolean | null>
}

const reader = { ip_address: '192.0.2.1', user_agent: 'Mozilla/5.0', bot: false }

/** Every type of event. `api/resource/event-schema` declares what the API says of its data. */
export const eventTypes = {
  'email.queued': {
    audience: 'log',
    words: { en: 'Accepted', de: 'Angenommen' },
    look: ['mail', 'quiet'],
  },
  'email.sent': {
    audience: 'account',
    when: "an attempt to hand the email to the recipient's host began",
    words: { en: 'Sent', de: 'Gesendet' },
    look: ['sent', 'quiet'],
    sample: () => ({}),
  },
  'email.delivered': {
    audience: 'account',
    when: 'that host took responsibility for it (`250`)',
    words: { en: 'Delivered', de: 'Zugestellt' },
    look: ['ok', 'ok'],
    sample: () => ({}),
  },
  'email.opened': {
    audience: 'account',
    when: 'somebody opened it; see [tracking.md](tracking.md) for how machines are told apart',
    words: { en: 'Opened', de: 'Geöffnet' },
    look: ['eye', 'quiet'],
    sample: () => reader,
  },
  'email.clicked': {
    audience: 'account',
    when: 'somebody followed a link in it; machines are told apart here, too',
    words: { en: 'Clicked', de: 'Geklickt' },
    look: ['right', 'quiet'],
    sample: () => ({ link: 'https://example.com/', ...reader }),
  },
  'email.bounced': {
    audience: 'account',
    when: 'it will not be delivered: suppressed, refused, given up, or returned later',
    words: { en: 'Bounced', de: 'Unzustellbar' },
    look: ['bad', 'bad'],
    sample: () => ({
      bounce_type: 'hard',
      bounce_category: 'invalid_recipient',
      smtp_code: 550,
      enhanced_status: '5.1.1',
      reason: '550 5.1.1 The mailbox does not exist',
    }),
  },
  'email.complained': {
    audience: 'account',
    when: 'the recipient reported it as spam',
    words: { en: 'Complained', de: 'Beschwerde' },
    look: ['flag', 'bad'],
    sample: () => ({ feedback_type: 'abuse', reported_by: null }),
  },
  'email.unsubscribed': {
    audience: 'account',
    when: 'the recipient unsubscribed',
    words: { en: 'Unsubscribed', de: 'Abgemeldet' },
    look: ['off', 'wait'],
    sample: () => ({ method: 'one_click' }),
  },
  'email.deferred': {
    audience: 'webhooks',
    when: 'an attempt failed, and another one follows',
    words: { en: 'Waiting', de: 'Wartet' },
    look: ['wait', 'wait'],
    sample: (at) => ({ next_attempt_at: isoTime(at + 60_000), reason: '451 4.7.1 Try again later' }),
  },
  'email.relayed': {
    audience: 'log',
    words: { en: 'Handed to the smarthost', de: 'An den Smarthost übergeben' },
    look: ['sent', 'ok'],
  },
  'email.canceled': {
    audience: 'log',
    words: { en: 'Canceled', de: 'Abgebrochen' },
    look: ['off', 'quiet'],
  },
  'email.rejudged': {
    audience: 'log',
    words: { en: 'Reclassified: it was a machine', de: 'Neu eingestuft: Es war eine Maschine' },
    look: ['eye', 'quiet'],
  },
} as const satisfies Record<string, LoggedEvent | PostedEvent>

type Types = typeof eventTypes
type TypeFor<Audience> = { [T in keyof Types]: Types[T]['audience'] extends Audience ? T : never }[keyof Types]

export type EventType = keyof Types
/** What an account's feed has. */
export type PublicEventType = TypeFor<'account'>
/** What webhooks can subscribe to. */
export type WebhookEventType = TypeFor<'account' | 'webhooks'>

const typesFor = <T extends EventType>(...audiences: string[]): T[] =>
  (Object.keys(eventTypes) as T[]).filter((type) => audiences.includes(eventTypes[type].audience))

export const publicEventTypes: readonly PublicEventType[] = typesFor('account')
export const webhookEventTypes: readonly WebhookEventType[] = typesFor('account', 'webhooks')
