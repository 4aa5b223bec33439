import type { Content } from './content.ts'
import type { Envelope } from './envelope.ts'
import type { HeaderSummary } from './header-summary.ts'
import type { SendOptions } from './send-options.ts'

/** Whom the submitter proved to be. */
export interface Submitter {
  accountId: string
  /** Set where the key may send from this domain only. */
  domainId: string | null
  sandbox: boolean
}

/** An `Idempotency-Key` with what it is compared by. */
export interface Idempotency {
  /** `send`, `send-batch`, `compat-send`, `compat-mime`, `resend`, `smtp`, each also with `sandbox-` before it */
  operation: string
  key: string
  /** SHA-256, hex: the same key with another fingerprint is refused. */
  fingerprint: string
}

/** A complete message, as every door hands it to `accept`. */
export interface Submission {
  id: string
  /** `system`: mail of the server's own. */
  source: 'api' | 'smtp' | 'compat' | 'system'
  submitter: Submitter
  envelope: Envelope
  header: HeaderSummary
  /** Complete: Date, Message-ID, no Bcc, CRLF line ends, no bare CR or LF. */
  content: Content
  options: SendOptions
  idempotency: Idempotency | null
}
