import type { OriginalMessage } from './original-message.ts'
import type { BounceCategory } from './refusal.ts'

/**
 * What a returned message is. `bounce`: mail did not arrive, or not yet. `delivered`: a report of success (relayed and
 * expanded included). `not-bounce`: anything else, and what cannot be understood.
 */
export const feedbackClasses = ['bounce', 'complaint', 'autoreply', 'delivered', 'not-bounce'] as const
export type FeedbackClass = (typeof feedbackClasses)[number]

/** Of RFC 3464 2.3.3. */
export type DeliveryAction = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'

/** Recipients of one report; what we send has one, and nobody is to be kept busy with more. */
export const mostRecipients = 1000
/** Characters of a reason. */
export const longestReason = 1000

/** What a report says of one recipient. */
export interface ReportedRecipient {
  /** As the report has it: the final recipient, else the original one; null where it names none. */
  address: string | null
  /** Whom the message was written to, where the report tells it beside the final recipient (RFC 3464 2.3.1). */
  originalAddress?: string | null
  action: DeliveryAction
  /** See `Judgement`; false for everything but a final failure. */
  hard: boolean
  /** Enhanced code of RFC 3463. */
  status: string | null
  category: BounceCategory
  /** See `Judgement`. */
  inWords?: true | undefined
  /** Of RFC 5321, where the report quotes a reply. */
  smtpCode: number | null
  /** What the remote system said, or else what the report says itself; on one line, at most `longestReason`. */
  reason: string
}

/** A complaint of RFC 5965. */
export interface Complaint {
  /** `abuse`, `fraud`, `virus`, `not-spam`, `opt-out` …: lower case. */
  feedbackType: string
  /** The reporting service, as it calls itself. */
  reportedBy: string | null
}

/** What a returned message means. Nothing in it is proved: whom it may concern is for the caller to know. */
export interface Feedback {
  class: FeedbackClass
  recipients: ReportedRecipient[]
  /** Null unless `class` is `complaint`. */
  complaint: Complaint | null
  /** The message it is about; its `reversePath` may be told beside it. */
  original: Omit<OriginalMessage, 'headers'>
  /** Of the returned message itself, decoded. */
  subject: string
}

/** Whom the token proves that a report is about, in the address that it came to. */
export interface ProvenRecipient {
  forwardPath: string
  /** True where the reverse-path of the report is null or a mail system's. */
  isFromSystem: boolean
}

/** The reverse-path of a mail system's own mail: the null one (RFC 5321 4.5.5), or what some have in its place. */
export const isSystemPath = (reversePath: string | null): boolean =>
  reversePath === null || /^(?:mailer-?daemon|postmaster|double-bounce|mail-?daemon)(?:@|$)/i.test(reversePath)

/** Whom a report is about: in a bounce those whom the message did not reach, or not yet; the others in it are well. */
export const concernedRecipients = ({ class: feedbackClass, recipients }: Pick<Feedback, 'class' | 'recipients'>): ReportedRecipient[] =>
  feedbackClass === 'bounce' ? recipients.filter(({ action }) => action === 'failed' || action === 'delayed') : recipients
