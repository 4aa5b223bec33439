import type { TransferOptions } from '../../mail/message/transfer-options.ts'
import type { HostOutcome } from './outcome.ts'

/** What follows the 354 reply. */
export interface Body {
  /** Whole header fields before the content: the signatures and what we add. */
  header: string
  /** Clean: only CRLF line ends. */
  content: Uint8Array
  /** What it requires of hosts. */
  bodyType: '7bit' | '8bitmime'
}

/** A message as it is about to leave. */
export interface OutgoingMessage {
  messageId: string
  /** The size declared to the host, including what we add, bytes. */
  size: number
  /** A lower bound of its real size, bytes. */
  minSize: number
  /** The body, or a function that fetches it once the host is ready: null if memory has no room for it, a verdict if it must not leave. */
  body: Body | (() => Promise<Body | HostOutcome | null>)
  /** What we declare to the host; for a body not yet fetched, the most it may need. */
  bodyType: '7bit' | '8bitmime'
  smtputf8: boolean
  transfer: TransferOptions | null
  /** Of the job, epoch ms. */
  at: number
}
