import type { WebhookEventType } from '../../mail/event/event-type.ts'
import type { RecipientType } from '../../mail/message/envelope.ts'
import { labelOf, type Tag } from '../../mail/message/send-limits.ts'

/** An event with what is known about its message and recipient. Every payload shape is built from it. */
export interface EventDetails {
  /** `evt_…` */
  id: string
  type: WebhookEventType
  sandbox: boolean
  /** As recorded: `email_id`, `to`, `subject`, and what the type adds. */
  data: Record<string, string | number | boolean | null>
  message: MessageDetails
  recipient: RecipientDetails
}

interface MessageDetails {
  /** The whole field value, decoded; null like the id if the message was deleted. */
  from: string | null
  /** With angle brackets. */
  messageIdHeader: string | null
  tags: Tag[]
  metadata: Record<string, string>
  /** What the message can be unsubscribed from: '' without a topic, null if it cannot. */
  unsubscribeTopic: string | null
  /** bytes */
  size: number
  /** Epoch, ms. */
  createdAt: number
}

interface RecipientDetails {
  /** `rcp_…`; null for an event without a recipient. */
  id: string | null
  type: RecipientType | null
  /** The last reply of the recipient's server. */
  lastResponse: string | null
  attempts: number
  /** Epoch, ms; null if not delivered. */
  deliveredAt: number | null
  openedAt: number | null
}

/** The member of `data` that says when it happened: `delivered_at` for `email.delivered`. */
export const timeMember = (type: WebhookEventType): string => `${type.slice('email.'.length)}_at`

/** When it happened, epoch ms. */
export const happenedAt = ({ type, data }: EventDetails): number => Date.parse(String(data[timeMember(type)]))

export const textIn = ({ data }: EventDetails, name: string): string | null => {
  const value = data[name]
  return typeof value === 'string' ? value : null
}

export const numberIn = ({ data }: EventDetails, name: string): number | null => {
  const value = data[name]
  return typeof value === 'number' ? value : null
}

/** The tags as services have them whose tags are labels. */
export const labelsOf = ({ message: { tags } }: EventDetails): string[] => tags.map(labelOf)

/** Without angle brackets. */
export const bareMessageId = ({ message: { messageIdHeader } }: EventDetails): string | null =>
  messageIdHeader?.replace(/^<|>$/g, '') ?? null

/** True if the address was on the suppression list, so nothing was sent. */
export const isSuppressed = (event: EventDetails): boolean => textIn(event, 'bounce_category') === 'suppressed'

export const isHard = (event: EventDetails): boolean => textIn(event, 'bounce_type') === 'hard'

/** The members that are not null. */
export const withoutNulls = (members: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
