import type { RecipientState } from '../../mail-out/queue/recipient-state.ts'
import { parseAddress } from '../../platform/smtp/address.ts'
import { suppressionAddress } from '../../mail/suppression/suppression-address.ts'
import type { Complaint, Feedback, ReportedRecipient } from '../../mail/bounce-parser/feedback.ts'
import type { RecipientProof } from './recipient-proof.ts'

/** The recipient that feedback was proved to be about, in its current state. */
export interface MatchedRecipient {
  forwardPath: string
  state: RecipientState
  /** True during an attempt, and until its outcome is on disk. */
  isInHand: boolean
  /** Epoch ms; null if no server accepted the message. */
  deliveredAt: number | null
  complainedAt: number | null
}

/** Why a recipient bounced after a server had accepted the message. */
export type ProvenBounce = Pick<ReportedRecipient, 'hard' | 'inWords' | 'category' | 'status' | 'smtpCode' | 'reason'>

/** That a message arrived, as a smarthost reports it. */
export type ReportedDelivery = Pick<ReportedRecipient, 'status' | 'smtpCode' | 'reason'>

/** What feedback changes. `wait`: the message may have left a moment ago, with the outcome not yet recorded. */
export type Consequence =
  | { type: 'delivered'; delivery: ReportedDelivery }
  | { type: 'bounced'; bounce: ProvenBounce }
  | { type: 'complained'; complaint: Complaint }
  /** Unsubscribe the recipient. If the message has no unsubscribe address, treat it as a complaint. */
  | { type: 'opted_out'; complaint: Complaint }
  | { type: 'wait' }
  | { type: 'nothing'; result: NoConsequence }

/** Why feedback changes nothing although we understood it and know the recipient. */
type NoConsequence = 'delayed' | 'delivered' | 'autoreply' | 'no_report' | 'no_effect' | 'duplicate' | 'not_sent' | 'other_recipient'

const nothing = (result: NoConsequence): Consequence => ({ type: 'nothing', result })

/** `smarthost`: the smarthost reports it, with a token inside the message. */
type Proof = RecipientProof['by'] | 'smarthost'

/** Decides what feedback changes for the recipient of the message. */
export function matchFeedback(feedback: Feedback, recipient: MatchedRecipient, proof: Proof): Consequence {
  switch (feedback.class) {
    case 'autoreply':
      return nothing('autoreply')
    case 'not-bounce':
      return nothing('no_report')
    case 'delivered':
      // We never request these by mail, and hosts on the way send some. `delivered` means that the recipient's own server took the message.
      return proof === 'smarthost' ? matchDelivery(feedback.recipients, recipient) : nothing('delivered')
    case 'bounce':
      return matchBounce(feedback.recipients, recipient, proof)
    case 'complaint':
      return feedback.complaint ? matchComplaint(feedback.complaint, feedback.recipients, { recipient, proof }) : nothing('no_report')
  }
}

function matchDelivery([entry]: ReportedRecipient[], recipient: MatchedRecipient): Consequence {
  if (entry === undefined) return nothing('no_report')
  const { state } = recipient
  if (state === 'sent') return { type: 'delivered', delivery: { status: entry.status, smtpCode: entry.smtpCode, reason: entry.reason } }
  if (state === 'delivered') return nothing('duplicate')
  return state === 'bounced' || state === 'complained' ? nothing('no_effect') : unsent(recipient)
}

function matchBounce(entries: ReportedRecipient[], recipient: MatchedRecipient, proof: Proof): Consequence {
  if (entries.length === 0) return nothing('no_report')
  const own = entries.filter(({ address }) => isAbout(address, recipient))
  const originally = entries.filter(({ originalAddress }) => originalAddress != null && isAbout(originalAddress, recipient))
  // A forwarder's bounce names the address it forwarded to. We believe it if it names our recipient as the original, or returns our
  // message. It says nothing about the address we wrote to, which may be a list.
  if (own.length === 0 && originally.length === 0 && proof === 'envelope') return nothing('other_recipient')
  const entry = gravest([own, originally, entries].find((some) => some.length > 0) ?? entries)
  if (entry.action === 'delayed') return nothing('delayed')
  if (entry.action !== 'failed') return nothing('delivered')
  const { state } = recipient
  if (state === 'bounced' || state === 'complained') return nothing('duplicate')
  if (state !== 'delivered' && state !== 'sent') return unsent(recipient)
  const { category, status, smtpCode, reason } = entry
  const isForwarded = own.length === 0 || entry.forwardedTo != null
  const { hard, inWords } = isForwarded ? { hard: false } : entry
  return { type: 'bounced', bounce: { hard, inWords, category, status, smtpCode, reason } }
}

function matchComplaint(
  complaint: Complaint,
  entries: ReportedRecipient[],
  { recipient, proof }: { recipient: MatchedRecipient; proof: Proof },
): Consequence {
  const { feedbackType } = complaint
  if (harmless.has(feedbackType)) return nothing('no_effect')
  if (proof === 'envelope' && entries.length > 0 && !entries.some(({ address }) => isAbout(address, recipient)))
    return nothing('other_recipient')
  const { state, deliveredAt, complainedAt } = recipient
  if (complainedAt !== null) return nothing('duplicate')
  const arrived = state === 'delivered' || state === 'sent' || (state === 'bounced' && deliveredAt !== null)
  if (!arrived) return unsent(recipient)
  return { type: optOuts.has(feedbackType) ? 'opted_out' : 'complained', complaint }
}

/** RFC 6430. Reports about authentication (RFC 6591) concern the domain, not the recipient. */
const harmless = new Set(['not-spam', 'auth-failure', 'dkim', 'dmarc', 'spf'])
/** The recipient wants no more mail, but does not call it spam. */
const optOuts = new Set(['opt-out', 'opt-out-list'])

/** Feedback on a message that never left is forged, unless the message is leaving right now. */
const unsent = ({ isInHand }: MatchedRecipient): Consequence => (isInHand ? { type: 'wait' } : nothing('not_sent'))

const gravity: ReportedRecipient['action'][] = ['failed', 'delayed', 'expanded', 'relayed', 'delivered']

const gravest = (entries: ReportedRecipient[]): ReportedRecipient =>
  entries.reduce((worst, entry) => (gravity.indexOf(entry.action) < gravity.indexOf(worst.action) ? entry : worst))

/** An entry without an address, or with a local name of the reporting system, is about the recipient we already know. */
const isAbout = (address: string | null, { forwardPath }: MatchedRecipient): boolean =>
  !address?.includes('@') || comparable(address) === comparable(forwardPath)

function comparable(address: string): string {
  const parsed = parseAddress(address)
  return suppressionAddress(parsed.ok ? parsed.address : address)
}
