interface EventDeclaration {
  /** `log`: shown only in the log of its email. `account`: also in the account's feed, and for webhooks that name no events. `webhooks`: only for webhooks that name it. */
  audience: 'log' | 'account' | 'webhooks'
  /** What the dashboard calls it. */
  words: { en: string; de: string }
  /** The dashboard's icon for it, and its tone. */
  look: readonly [icon: string, tone: string]
}

/** Every type of event. `api/resource/event-schema` declares what the API says of its data. */
export const eventTypes = {
  'email.queued': {
    audience: 'log',
    words: { en: 'Accepted', de: 'Angenommen' },
    look: ['mail', 'quiet'],
  },
  'email.sent': {
    audience: 'account',
    words: { en: 'Sent', de: 'Gesendet' },
    look: ['sent', 'quiet'],
  },
  'email.delivered': {
    audience: 'account',
    words: { en: 'Delivered', de: 'Zugestellt' },
    look: ['ok', 'ok'],
  },
  'email.opened': {
    audience: 'account',
    words: { en: 'Opened', de: 'Geöffnet' },
    look: ['eye', 'quiet'],
  },
  'email.clicked': {
    audience: 'account',
    words: { en: 'Clicked', de: 'Geklickt' },
    look: ['right', 'quiet'],
  },
  'email.bounced': {
    audience: 'account',
    words: { en: 'Bounced', de: 'Unzustellbar' },
    look: ['bad', 'bad'],
  },
  'email.complained': {
    audience: 'account',
    words: { en: 'Complained', de: 'Beschwerde' },
    look: ['flag', 'bad'],
  },
  'email.unsubscribed': {
    audience: 'account',
    words: { en: 'Unsubscribed', de: 'Abgemeldet' },
    look: ['off', 'wait'],
  },
  'email.deferred': {
    audience: 'webhooks',
    words: { en: 'Waiting', de: 'Wartet' },
    look: ['wait', 'wait'],
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
} as const satisfies Record<string, EventDeclaration>

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
