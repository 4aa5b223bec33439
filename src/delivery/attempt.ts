import type { BounceCategory } from '../bounce-parser/refusal.ts'
import type { AddedField } from '../message/added-field.ts'
import type { Reply } from '../smtp/reply.ts'
import type { TrackingPlan } from '../tracking/tracked-message.ts'

/** What one attempt came to. A deferral without a reply is a failure of network, DNS or our own. */
export type Outcome =
  { type: 'delivered'; reply: Reply } | { type: 'deferred'; reply: Reply | null; category: BounceCategory; reason: string } | Bounced

export interface Bounced {
  type: 'bounced'
  reply: Reply | null
  hard: boolean
  category: BounceCategory
  reason: string
  /** See `Judgement`. */
  inWords?: true | undefined
  /** When the same was said of the address before, epoch ms, where that makes this the second time. */
  saidBefore?: number | undefined
  /** True where the DNS alone says that there is nowhere to bring the mail: final only once that was said twice. */
  isAbsence?: boolean
}

/** A line of the dialogue: ms since the attempt began, `c` our side or `s` the server's, the line without CRLF. Message data is left out. */
export type TranscriptLine = [ms: number, side: 'c' | 's', line: string]

export interface TlsUsed {
  /** `TLSv1.3` */
  version: string
  cipher: string
  /** True where the certificate is valid for the MX host. */
  verified: boolean
}

/** One recipient's attempt, as it is recorded. */
export interface Attempt {
  recipientId: string
  outcome: Outcome
  durationMs: number
  mxHost: string | null
  /** IP address connected to. */
  address: string | null
  tls: TlsUsed | null
  /** DKIM selectors whose signatures the message left with. */
  selectors: string[]
  /** JSON of `TranscriptLine[]`: from thread to thread one text takes less than its lines. */
  transcript: string
  /** Where no host of the destination is to be tried for a while. */
  rest?: HostRest | undefined
}

/** A host, or the way to it, that is down: it is not tried for a while, and then by one message. */
export interface HostRest {
  /** The same for all destinations that the host is the reason for. */
  key: string
  forMs: number
  /** What it said last, or what failed. */
  reason: string
}

/** Where a job gets content that was not sent along with it. */
export interface ContentSupply {
  /**
   * The content, to be given back; null where there is no room for it.
   * @throws Error where it cannot be read
   */
  take(): Promise<Uint8Array | null>
  /** Says that the content is no longer in memory. Does nothing if it was not taken. */
  giveBack(): void
}

export interface DeliveryRecipient {
  id: string
  /** What goes into RCPT TO, without angle brackets. Non-ASCII local parts need SMTPUTF8; the domain is in A-labels. */
  forwardPath: string
  /** What goes into MAIL FROM, without angle brackets; empty for the null reverse-path. */
  reversePath: string
  /** Whole header fields that stand above the signatures, as a trace of this transfer does. */
  traceFields: string
  /** What the message gets for this recipient alone. */
  fields: AddedField[]
}

/** Names a DKIM key; the delivery side is given the private key once, under `id`. */
export interface SigningKey {
  id: string
  signingDomain: string
  selector: string
  algorithm: 'rsa-sha256' | 'ed25519-sha256'
}

/** One message and its recipients at one destination. */
export interface DeliveryJob {
  id: string
  messageId: string
  /** Domain of the forward-paths, A-labels, lower case. */
  destination: string
  /** True where the DNS said at an earlier attempt that there is nowhere to bring it: all name servers are asked, from no cache. */
  isSecondLook: boolean
  /** A name of the sender that the DNS has had an MX record of: name servers that do not find it are not believed. */
  knownName: string | null
  recipients: DeliveryRecipient[]
  /** True where hosts that rest are to be tried. */
  isProbe: boolean
  /**
   * The message as stored, CRLF line ends, no bare CR or LF; lies in shared memory. A large one is asked for when a host is ready
   * for it.
   */
  content: Uint8Array | 'on request'
  /** Of the content, bytes. */
  size: number
  bodyType: '7bit' | '8bitmime'
  /** True where a header field or an address needs RFC 6531. */
  smtputf8: boolean
  /** `enforced`: never without TLS to a host whose certificate is valid. */
  tls: 'opportunistic' | 'enforced'
  /** When it is made, epoch ms, by the clock of the queue. */
  at: number
  signingKeys: SigningKey[]
  /** What the message gets for all its recipients. */
  fields: AddedField[]
  /** Null where it is not tracked. */
  tracking: TrackingPlan | null
}

/** No connection to the recipient's host was free for too long, or its hosts rest: nothing was tried, and no attempt is counted. */
export interface Postponed {
  recipientId: string
  postponed: true
  /** Where that is the reason. */
  rest?: HostRest | undefined
}

/** An attempt that no connection was made for. */
export const unconnectedAttempt = (recipientId: string, outcome: Outcome): Attempt => ({
  recipientId,
  outcome,
  durationMs: 0,
  mxHost: null,
  address: null,
  tls: null,
  selectors: [],
  transcript: '[]',
})
