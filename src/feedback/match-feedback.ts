import type { RecipientState } from '../queue/recipient-state.ts'
import { parseAddress } from '../smtp/address.ts'
import { suppressionAddress } from '../suppression/suppression-address.ts'
import type { Complaint, Feedback, ReportedRecipient } from '../bounce-parser/feedback.ts'
import type { RecipientProof } from './recipient-proof.ts'

/** The recipient that a report proves to be about, as it stands. */
export interface MatchedRecipient {
  forwardPath: string
  state: RecipientState
  /** True while an attempt is being made, or its outcome is not on disk yet. */
  isInHand: boolean
  /** Epoch ms; null where no server took the message. */
  deliveredAt: number | null
  complainedAt: number | null
}

/** Why a recipient is given up after a server had taken the message. */
export type ProvenBounce = Pick<ReportedRecipient, 'hard' | 'inWords' | 'category' | 'status' | 'smtpCode' | 'reason'>

/** What a report changes. `wait`: it may be that the message left a moment ago, and this is not known yet. */
export type Consequence =
  | { type: 'bounced'; bounce: ProvenBounce }
  | { type: 'complained'; complaint: Complaint }
  /** Wants no more of it: unsubscribed, or where the message cannot be unsubscribed from as good as a complaint. */
  | { type: 'opted_out'; complaint: Complaint }
  | { type: 'wait' }
  | { type: 'nothing'; result: NoConsequence }

/** Why a report that was understood, and is proven to be about a recipient of ours, changes nothing. */
type NoConsequence = 'delayed' | 'delivered' | 'autoreply' | 'no_report' | 'no_effect' | 'duplicate' | 'not_sent' | 'other_recipient'

const nothing = (result: NoConsequence): Consequence => ({ type: 'nothing', result })

/** What became of the message at its recipient, as far as a report can change it. */
export function matchFeedback(feedback: Feedback, recipient: MatchedRecipient, proof: RecipientProof['by']): Consequence {
  switch (feedback.class) {
    case 'autoreply':
      return nothing('autoreply')
    case 'not-bounce':
      return nothing('no_report')
    case 'delivered':
      // Never asked for. A smarthost's word is not what `delivered` means here: that the recipient's own server said so.
      return nothing('delivered')
    case 'bounce':
      return matchBounce(feedback.recipients, recipient, proof)
    case 'complaint':
      return feedback.complaint ? matchComplaint(feedback.complaint, feedback.recipients, { recipient, proof }) : nothing('no_report')
  }
}

function matchBounce(entries: ReportedRecipient[], recipient: MatchedRecipient, proof: RecipientProof['by']): Consequence {
  if (entries.length === 0) return nothing('no_report')
  const own = entries.filter(({ address }) => isAbout(address, recipient))
  const originally = entries.filter(({ originalAddress }) => originalAddress != null && isAbout(originalAddress, recipient))
  // Whoever forwards mail reports of the address that it went on to. Such a report is believed where it names ours as the
  // original one, or brings our message back, and tells nothing of the address that we wrote to: that may be a list.
  const isForwarded = own.length === 0
  if (isForwarded && originally.length === 0 && proof === 'envelope') return nothing('other_recipient')
  const entry = gravest([own, originally, entries].find((some) => some.length > 0) ?? entries)
  if (entry.action === 'delayed') return nothing('delayed')
  if (entry.action !== 'failed') return nothing('delivered')
  const { state } = recipient
  if (state === 'bounced' || state === 'complained') return nothing('duplicate')
  if (state !== 'delivered' && state !== 'sent') return unsent(recipient)
  const { category, status, smtpCode, reason } = entry
  const { hard, inWords } = isForwarded ? { hard: false } : entry
  return { type: 'bounced', bounce: { hard, inWords, category, status, smtpCode, reason } }
}

function matchComplaint(
  complaint: Complaint,
  entries: ReportedRecipient[],
  { recipient, proof }: { recipient: MatchedRecipient; proof: RecipientProof['by'] },
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

/** RFC 6430; reports about authentication (RFC 6591) concern the domain, not the recipient. */
const harmless = new Set(['not-spam', 'auth-failure', 'dkim', 'dmarc', 'spf'])
/** The recipient wants no more of it, and calls it no spam. */
const optOuts = new Set(['opt-out', 'opt-out-list'])

/** A report of a message that never left proves that somebody invented it, unless it is leaving right now. */
const unsent = ({ isInHand }: MatchedRecipient): Consequence => (isInHand ? { type: 'wait' } : nothing('not_sent'))

const gravity: ReportedRecipient['action'][] = ['failed', 'delayed', 'expanded', 'relayed', 'delivered']

const gravest = (entries: ReportedRecipient[]): ReportedRecipient =>
  entries.reduce((worst, entry) => (gravity.indexOf(entry.action) < gravity.indexOf(worst.action) ? entry : worst))

/** A report that names nobody, or no address but a name of its system's own, is about the one whom its address names. */
const isAbout = (address: string | null, { forwardPath }: MatchedRecipient): boolean =>
  !address?.includes('@') || comparable(address) === comparable(forwardPath)

function comparable(address: string): string {
  const parsed = parseAddress(address)
  return suppressionAddress(parsed.ok ? parsed.address : address)
}
