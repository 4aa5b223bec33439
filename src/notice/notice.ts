import type { BounceCategory } from '../bounce-parser/refusal.ts'

/** What a notice says became of a recipient (RFC 3464 2.3.3). */
export type NoticeAction = 'failed' | 'delayed' | 'delivered' | 'relayed'

/** A recipient that a notice tells of. Times are epoch, ms. */
export interface NoticeRecipient {
  /** The forward-path. */
  address: string
  /** As given with RCPT (RFC 3461 4.2): address type and xtext; null where it was not given. */
  orcpt: string | null
  /** Enhanced code of RFC 3463; null where nobody gave one. */
  enhancedStatus: string | null
  /** Of RFC 5321; null where no server answered. */
  smtpCode: number | null
  /** What was said or went wrong; any text, null where there is none. */
  reason: string | null
  /** Of a failure. */
  category: BounceCategory | null
  /** The host that answered the last attempt; null where none did, or where that is not known any more. */
  remoteHost: string | null
  lastAttemptAt: number | null
  /** Of a delay: until when it is tried. */
  retriedUntil: number | null
}

/** The message that a notice is about. */
export interface NoticeOriginal {
  /** With its angle brackets. */
  messageIdHeader: string
  /** Decoded. */
  subject: string
  /** As given with MAIL (RFC 3461 4.4), in xtext. */
  envid: string | null
  /** Epoch, ms. */
  arrivedAt: number
  /** True where a header field or an address needed RFC 6531. */
  smtputf8: boolean
  /** What goes back of it: all of it, or its header alone. CRLF line ends. */
  returned: { isWhole: boolean; bytes: Uint8Array }
}

/** A delivery status notification before it is written: one action, and everybody whom it concerns. */
export interface Notice {
  action: NoticeAction
  /** At least one. */
  recipients: NoticeRecipient[]
  original: NoticeOriginal
}
