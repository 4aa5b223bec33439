import type { Mailbox } from '../smtp/address.ts'
import type { TrackingWish } from './tracking-options.ts'

export type { Mailbox }

export interface Tag {
  name: string
  value: string
}

/** Whom the submitter proved to be. */
export interface Submitter {
  accountId: string
  /** Null: a user who is logged in. */
  keyId: string | null
  /** Set where the key may send from this domain only. */
  domainId: string | null
  sandbox: boolean
}

export interface SubmittedRecipient {
  mailbox: Mailbox
  type: 'to' | 'cc' | 'bcc'
  /** RFC 3461, as given: `NEVER` or a list of `SUCCESS`, `FAILURE`, `DELAY`. */
  notify: string | null
  orcpt: string | null
}

/** The bytes of a message in chunks of `chunkSize`; the first of them may be stored already. */
export interface Content {
  /** bytes, all chunks together */
  size: number
  /** Chunks not stored yet, in shared memory; all but the very last one are `chunkSize` long. */
  pending: Uint8Array[]
  /** How many chunks are stored already, so the number of `pending[0]`. */
  stored: number
  /** The message whose content it is a copy of; then nothing is pending. */
  copyOf?: string
}

/** bytes */
export const chunkSize = 256 * 1024

/** An `Idempotency-Key` with what it is compared by. */
export interface Idempotency {
  /** `send`, `send-batch`, `compat-send`, `compat-mime`, `resend`, `smtp`, each also with `sandbox-` before it */
  operation: string
  key: string
  /** SHA-256, hex: the same key with another fingerprint is refused. */
  fingerprint: string
}

/** A complete message with its envelope, as every door hands it to `accept`. */
export interface Submission {
  id: string
  /** `system`: mail of the server's own. */
  source: 'api' | 'smtp' | 'compat' | 'system'
  submitter: Submitter
  /** MAIL FROM of the submitter; null over HTTP and for `<>`. */
  reversePath: string | null
  recipients: SubmittedRecipient[]
  headerFrom: Mailbox[]
  /** Of the Sender field. */
  sender: Mailbox | null
  /** The fields as shown to people, decoded. */
  headerFromText: string
  headerToText: string[]
  headerCcText: string[]
  replyToText: string[]
  subject: string
  /** With its angle brackets. */
  messageIdHeader: string
  /** Complete: Date, Message-ID, no Bcc, CRLF line ends, no bare CR or LF. */
  content: Content
  bodyType: '7bit' | '8bitmime'
  smtputf8: boolean
  envid: string | null
  ret: string | null
  tags: Tag[]
  metadata: Record<string, string>
  /** The template that it was made from. */
  templateId: string | null
  /** What its readers can unsubscribe from: '' where it has no topic, null where they cannot. */
  unsubscribeTopic: string | null
  /** What the submitter wants tracked; what is left out is as the domain has it. */
  tracking: TrackingWish
  /** Epoch, ms; null: at once. */
  scheduledAt: number | null
  /** Seconds after which an undelivered recipient is given up; null: the setting `delivery.give_up_after`. */
  expiresIn: number | null
  idempotency: Idempotency | null
}

/** True where its submitter gave `<>`: nobody is to be told what became of it. Over HTTP nothing is given. */
export const hasNullReversePath = ({ source, reversePath }: Pick<Submission, 'source' | 'reversePath'>): boolean =>
  source === 'smtp' && reversePath === null
