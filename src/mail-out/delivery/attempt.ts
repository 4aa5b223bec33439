import type { BounceCategory, RefusalPhase } from '../../mail/bounce-parser/refusal.ts'
import type { AddedField } from '../../mail/message/added-field.ts'
import type { Reply } from '../../platform/smtp/reply.ts'
import type { Choices } from '../smarthost/choose-route.ts'
import type { TrackingPlan } from '../../readers/tracking/tracked-message.ts'
import { textOfUnknown, type Transport } from './transport-facts.ts'
import type { Demands } from './transport-policy.ts'

/** The result of one attempt. A deferral without a reply is a failure of the network, of the DNS, or of our own. */
export type Outcome = { type: 'delivered'; reply: Reply } | Deferred | Bounced

export interface Deferred {
  type: 'deferred'
  reply: Reply | null
  category: BounceCategory
  reason: string
  /** What the reply answers; absent without one. */
  phase?: RefusalPhase | undefined
  /** True if the host's answer to the whole message was none that SMTP knows, so it may have the message. */
  isUnclear?: true
}

export interface Bounced {
  type: 'bounced'
  reply: Reply | null
  hard: boolean
  category: BounceCategory
  reason: string
  /** See `Deferred`. */
  phase?: RefusalPhase | undefined
  /** See `Judgement`. */
  inWords?: true | undefined
  /** When the same was said of the address before, epoch ms, if this is the second time. */
  saidBefore?: number | undefined
  /** True if only the DNS says that the mail has nowhere to go: final only once it has said so twice. */
  isAbsence?: boolean
}

/**
 * A line of the dialogue: ms since the attempt began, `c` for our side or `s` for the server's, and the line without CRLF. Message data is
 * left out.
 */
export type TranscriptLine = [ms: number, side: 'c' | 's', line: string]

/** One recipient's attempt, as it is stored. */
export interface Attempt {
  recipientId: string
  outcome: Outcome
  durationMs: number
  mxHost: string | null
  /** IP address connected to. */
  address: string | null
  /** Ours, that it was connected from; null if the system chose it. */
  sourceAddress: string | null
  /** See `textOfTls`. */
  tls: string | null
  /** How the mail travelled; null if no host was asked to take it. */
  transport: Transport | null
  /** DKIM selectors of the message's signatures. */
  selectors: string[]
  /** JSON of `TranscriptLine[]`: one text crosses threads more cheaply than its lines. */
  transcript: string
  /** True if the host is a smarthost: what it accepts is on its way, but not delivered. */
  viaSmarthost?: true
  /** Set if no host of the destination is to be tried for a while. */
  backoff?: HostBackoff | undefined
}

/** A host, or the way to it, that is down: after a pause, one message tries it. */
export interface HostBackoff {
  /** The same for all destinations in backoff because of this host. */
  key: string
  forMs: number
  /** Its last reply, or what failed. */
  reason: string
}

/** Where a job gets content that was not sent along with it. */
export interface ContentSupply {
  /**
   * The content, to be released; null if there is no room for it.
   * @throws Error if it cannot be read
   */
  take(): Promise<Uint8Array | null>
  /** Releases the content's memory. Does nothing if it was not taken. */
  giveBack(): void
  /** Called before a job ends if nothing reads the content that it took any more; not called if that is not certain. */
  noteUnread(): void
}

export interface DeliveryRecipient {
  id: string
  /** What goes into RCPT TO, without angle brackets. Non-ASCII local parts need SMTPUTF8; the domain is in A-labels. */
  forwardPath: string
  /** What goes into MAIL FROM, without angle brackets; empty for the null reverse-path. */
  reversePath: string
  /** Whole header fields above the signatures, such as a trace of this transfer. */
  traceFields: string
  /** The header fields for this recipient alone. */
  fields: AddedField[]
}

/** Names a DKIM key; delivery gets the private key once, under `id`. */
export interface SigningKey {
  id: string
  signingDomain: string
  selector: string
  algorithm: 'rsa-sha256' | 'ed25519-sha256'
}

/** One message and its recipients at one destination. */
export interface DeliveryJob extends Demands {
  id: string
  messageId: string
  /** Domain of the forward-paths, A-labels, lower case. */
  destination: string
  /** True if the DNS said at an earlier attempt that the mail has nowhere to go: then every name server is asked, bypassing caches. */
  isSecondLook: boolean
  /** Where it goes; default: as the settings say, like all mail for the destination. */
  choices?: Choices
  /** A name of the sender known to have an MX record: name servers that do not find it are not believed. */
  knownName: string | null
  recipients: DeliveryRecipient[]
  /** True if hosts in backoff are to be tried. */
  isProbe: boolean
  /** A number for its account: at a host without a free connection, accounts take turns. */
  account: number
  /** True if it gets a connection before mail that is not. */
  isUrgent: boolean
  /** The stored message, CRLF line ends, no bare CR or LF; in shared memory. A large one is requested when a host is ready for it. */
  content: Uint8Array | 'on request'
  /** Of the content, bytes. */
  size: number
  bodyType: '7bit' | '8bitmime'
  /** True if a header field or an address needs RFC 6531. */
  smtputf8: boolean
  /** True of mail of the server itself, whose sessions no report on TLS counts: its reports are among it (RFC 8460 3). */
  isOwnMail: boolean
  /** When the job was created, epoch ms, by the queue's clock. */
  at: number
  signingKeys: SigningKey[]
  /** The header fields for all its recipients. */
  fields: AddedField[]
  /** Null if it is not tracked. */
  tracking: TrackingPlan | null
}

/** No connection to the recipient's host became free in time, or its hosts are in backoff: nothing was tried, and it does not count as an attempt. */
export interface Postponed {
  recipientId: string
  postponed: true
  /** If that is the reason. */
  backoff?: HostBackoff | undefined
}

/** An attempt that no connection was made for. `tls`: see `Attempt`. */
export const unconnectedAttempt = (recipientId: string, outcome: Outcome, tls: string | null = textOfUnknown): Attempt => ({
  recipientId,
  outcome,
  durationMs: 0,
  mxHost: null,
  address: null,
  sourceAddress: null,
  tls,
  transport: null,
  selectors: [],
  transcript: '[]',
})
