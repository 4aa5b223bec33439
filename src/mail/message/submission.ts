import type { Content } from './content.ts'
import type { Envelope } from './envelope.ts'
import type { HeaderSummary } from './header-summary.ts'
import type { SendOptions } from './send-options.ts'

/** Who the submitter is, as authenticated. */
export interface Submitter {
  accountId: string
  /** The only domain that the key may send from; null if it may use any. */
  domainId: string | null
  sandbox: boolean
}

/** An `Idempotency-Key` and what it was used for. */
export interface Idempotency {
  /** `send`, `send-batch`, `compat-send`, `compat-mime`, `resend`, `smtp`, each also with the prefix `sandbox-` */
  operation: string
  key: string
  /** SHA-256, hex. The same key with a different fingerprint is refused. */
  fingerprint: string
}

/** A complete message, as `accept` takes it from SMTP and HTTP alike. */
export interface Submission {
  id: string
  /** `system`: the server's own mail. */
  source: 'api' | 'smtp' | 'compat' | 'system'
  submitter: Submitter
  envelope: Envelope
  header: HeaderSummary
  /** Complete: Date, Message-ID, no Bcc, CRLF line ends, no bare CR or LF. */
  content: Content
  options: SendOptions
  /** Header fields that the caller gave and that were left out: `withoutOwnMessageFields`. None where it is missing. */
  droppedHeaders?: readonly string[]
  /** True if its priority was lowered, because its account has had as much urgent mail as it may. */
  isLowered?: true
  idempotency: Idempotency | null
}
