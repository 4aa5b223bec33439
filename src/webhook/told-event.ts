import { labelOf, type Tag } from '../message/send-limits.ts'
import type { WebhookEventType } from './event-subscription.ts'

/** An event with what is known of its message and its recipient: what every shape is made of. */
export interface ToldEvent {
  /** `evt_…` */
  id: string
  type: WebhookEventType
  sandbox: boolean
  /** As recorded: `email_id`, `to`, `subject`, and what the type adds. */
  data: Record<string, string | number | boolean | null>
  message: ToldMessage
  recipient: ToldRecipient
}

interface ToldMessage {
  /** The whole field value, decoded; null where the message is gone, like the id. */
  from: string | null
  /** With its angle brackets. */
  messageIdHeader: string | null
  tags: Tag[]
  metadata: Record<string, string>
  /** What its readers can unsubscribe from; '' where it has no topic, null where they cannot. */
  unsubscribeTopic: string | null
  /** bytes */
  size: number
  /** Epoch, ms. */
  createdAt: number
}

interface ToldRecipient {
  /** `rcp_…`; null for an event that concerns none. */
  id: string | null
  type: 'to' | 'cc' | 'bcc' | null
  /** The last reply of the recipient's server. */
  lastResponse: string | null
  attempts: number
  /** Epoch, ms; null where it has not happened. */
  deliveredAt: number | null
  openedAt: number | null
}

/** When it happened, epoch, ms: `email.delivered` has `delivered_at`. */
export const happenedAt = ({ type, data }: ToldEvent): number => Date.parse(String(data[`${type.slice('email.'.length)}_at`]))

export const textIn = ({ data }: ToldEvent, name: string): string | null => {
  const value = data[name]
  return typeof value === 'string' ? value : null
}

export const numberIn = ({ data }: ToldEvent, name: string): number | null => {
  const value = data[name]
  return typeof value === 'number' ? value : null
}

/** The tags as services have them whose tags are labels. */
export const labelsOf = ({ message: { tags } }: ToldEvent): string[] => tags.map(labelOf)

/** Without its angle brackets. */
export const bareMessageId = ({ message: { messageIdHeader } }: ToldEvent): string | null => messageIdHeader?.replace(/^<|>$/g, '') ?? null

/** The address was on the suppression list, so nothing was sent. */
export const isSuppressed = (event: ToldEvent): boolean => textIn(event, 'bounce_category') === 'suppressed'

export const isHard = (event: ToldEvent): boolean => textIn(event, 'bounce_type') === 'hard'

/** The members that are not null. */
export const withoutNulls = (members: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
