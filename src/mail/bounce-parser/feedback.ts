import type { OriginalMessage } from './original-message.ts'
import type { BounceCategory } from './refusal.ts'

/**
 * What a returned message is. `bounce`: mail was not delivered, or not yet. `delivered`: a success report (also relayed or expanded).
 * `not-bounce`: anything else, and anything we do not understand.
 */
export const feedbackClasses = ['bounce', 'complaint', 'autoreply', 'delivered', 'not-bounce'] as const
export type FeedbackClass = (typeof feedbackClasses)[number]

/** RFC 3464 2.3.3. */
export type DeliveryAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

/** Bounds the recipients of one bounce. Ours have one. */
export const maxRecipients = 1000
/** Characters of a reason. */
export const maxReasonLength = 1000

/** What a bounce says about one recipient. */
export interface ReportedRecipient {
  /** The final recipient, else the original one, as written; null if the bounce names none. */
  address: string | null
  /** The original recipient, if the bounce names one besides the final one (RFC 3464 2.3.1). */
  originalAddress?: string | null
  /** The address that failed, if the bounce says that mail to `address` was forwarded there. `hard` is about this one. */
  forwardedTo?: string | null
  action: DeliveryAction
  /** See `Judgement`. True only for final failures. */
  hard: boolean
  /** RFC 3463. */
  status: string | null
  category: BounceCategory
  /** See `Judgement`. */
  inWords?: true | undefined
  /** RFC 5321; null if the bounce quotes no reply. */
  smtpCode: number | null
  /** What the remote system said, else what the bounce itself says; on one line, at most `maxReasonLength`. */
  reason: string
}

/** A complaint (RFC 5965). */
export interface Complaint {
  /** `abuse`, `fraud`, `virus`, `not-spam`, `opt-out` …; lower case. */
  feedbackType: string
  /** The reporting service's name for itself. */
  reportedBy: string | null
}

/** What a returned message means. Nothing in it is proved: the caller must know whom it concerns. */
export interface Feedback {
  class: FeedbackClass
  recipients: ReportedRecipient[]
  /** Null unless `class` is `complaint`. */
  complaint: Complaint | null
  /** The original message. Its `reversePath` may come from a field of the report. */
  original: Omit<OriginalMessage, 'headers'>
  /** The returned message's own subject, decoded. */
  subject: string
}

/** The recipient that the token in the bounce address proves. */
export interface ProvenRecipient {
  forwardPath: string
  /** True if the bounce's reverse-path is null or a mail system's. */
  isFromSystem: boolean
}

/** True for a mail system's reverse-path: null (RFC 5321 4.5.5), or what some systems use instead. */
export const isSystemPath = (reversePath: string | null): boolean =>
  reversePath === null || /^(?:mailer-?daemon|postmaster|double-bounce|mail-?daemon)(?:@|$)/i.test(reversePath)

/** The recipients that the feedback is about. In a bounce, those that failed or are delayed. */
export const concernedRecipients = ({ class: feedbackClass, recipients }: Pick<Feedback, 'class' | 'recipients'>): ReportedRecipient[] =>
  feedbackClass === 'bounce' ? recipients.filter(({ action }) => action === 'failed' || action === 'delayed') : recipients
