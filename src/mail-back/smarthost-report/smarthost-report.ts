/** What a service that took our mail says became of one message. */
export interface SmarthostReport {
  /** The message's reference, which the service was given with it and returns. Not verified. */
  reference: string
  /** Whom the service says it is about. */
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

/** Reads an event of a service; null if it says nothing about what became of a message of ours, such as an open. */
export type ReadEvent = (event: ReportJson) => SmarthostReport | null

export type ReportJson = Record<string, unknown>

export const objectOf = (value: unknown): ReportJson =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ReportJson) : {}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '')

/** Null where there is no text. */
export const textOrNull = (value: unknown): string | null => textOf(value) || null

const statusForm = /^[245]\.\d{1,3}\.\d{1,3}$/

/** An enhanced status code (RFC 3463); null if it is none. */
export const statusOf = (value: unknown): string | null => (statusForm.test(textOf(value)) ? textOf(value) : null)

export const delivered = (reply: string | null): DeliveryFate => ({ action: 'delivered', status: '2.0.0', reply, words: null })
