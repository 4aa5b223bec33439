import type { BounceCategory } from '../../mail/bounce-parser/refusal.ts'

/** The action that a notice reports (RFC 3464 2.3.3). */
export type NoticeAction = 'failed' | 'delayed' | 'delivered' | 'relayed'

/** A recipient in a notice. Times are epoch, ms. */
export interface NoticeRecipient {
  /** The forward-path. */
  address: string
  /** From RCPT (RFC 3461 4.2): address type and xtext; null if absent. */
  orcpt: string | null
  /** RFC 3463; null if nobody gave one. */
  enhancedStatus: string | null
  /** RFC 5321; null if no server replied. */
  smtpCode: number | null
  /** What was said or went wrong; null if unknown. */
  reason: string | null
  /** For a failure. */
  category: BounceCategory | null
  /** The host that replied to the last attempt; null if none did, or it is unknown. */
  remoteHost: string | null
  lastAttemptAt: number | null
  /** For a delay: when we give up. */
  retriedUntil: number | null
}

/** The message that a notice is about. */
export interface NoticeOriginal {
  /** With angle brackets. */
  messageIdHeader: string
  /** Decoded. */
  subject: string
  /** From MAIL (RFC 3461 4.4), in xtext. */
  envid: string | null
  /** Epoch, ms. */
  arrivedAt: number
  /** True if a header field or an address needed RFC 6531. */
  smtputf8: boolean
  /** True if the message, and so every notice of it, may travel only with REQUIRETLS (RFC 8689 5). */
  requireTls: boolean
  /** What we return of it: all, or the header alone. Lines end with CRLF. */
  returned: { isWhole: boolean; bytes: Uint8Array }
}

/** A delivery status notification before it is composed: one action, and the recipients it is about. */
export interface Notice {
  action: NoticeAction
  /** At least one. */
  recipients: NoticeRecipient[]
  original: NoticeOriginal
}
