import { textOf, type JsonObject } from '../../platform/json-values.ts'

/** What a service that took our mail says became of one message. */
export interface SmarthostReport {
  /** The message's reference, which the service was given with it and returns. Not verified. */
  reference: string
  /** The recipient, as the service says. */
  address: string
  said: DeliveryFate | ReaderWish
}

/** As in a delivery status (RFC 3464 2.3). */
export interface DeliveryFate {
  action: 'failed' | 'delayed' | 'delivered'
  /** RFC 3463; null if the service gives none. */
  status: string | null
  /** The reply of the recipient's host, with its code; null if there was none. */
  reply: string | null
  /** The service's own words; null if it has none. */
  words: string | null
  /** True if the service says that the address may be good, whatever the reply. */
  isSoft?: boolean
}

/** As in a feedback report (RFC 5965): `abuse`, `opt-out`, or another type. */
interface ReaderWish {
  feedbackType: string
}

/**
 * Reads an event of a service. `reference`: empty if the message is not ours; `said`: null if the event, such as an open, says nothing of
 * what became of it.
 */
export type ReadEvent = (event: JsonObject) => Omit<SmarthostReport, 'said'> & { said: SmarthostReport['said'] | null }

/** Null where there is no text. */
export const textOrNull = (value: unknown): string | null => textOf(value) || null

const statusForm = /^[245]\.\d{1,3}\.\d{1,3}$/

/** An enhanced status code (RFC 3463); null if it is none. */
export const statusOf = (value: unknown): string | null => (statusForm.test(textOf(value)) ? textOf(value) : null)

/** Where nothing says more. */
export const unspecified = { failed: '5.0.0', delayed: '4.0.0' } as const

/** Some services write it before a reply. */
const protocol = /^smtp;\s*/i
/** A reply begins with its code. */
const replyForm = /^[245]\d\d[ -]/

/** A host's reply; null if this is none, such as the service's own words. */
export function replyIn(value: unknown): string | null {
  const text = textOf(value).replace(protocol, '')
  return replyForm.test(text) ? text : null
}

export const delivered = (reply: string | null): DeliveryFate => ({ action: 'delivered', status: '2.0.0', reply, words: null })

/** @param told a host's reply, or the service's own words */
export function undelivered(action: 'failed' | 'delayed', told: string | null, status: string | null): DeliveryFate {
  const reply = replyIn(told)
  if (reply !== null) return { action, status, reply, words: null }
  return { action, status: status ?? unspecified[action], reply, words: told?.replace(protocol, '') ?? null }
}
