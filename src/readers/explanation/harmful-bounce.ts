import type { CauseCode } from './causes.ts'
import { explainAttempt, type FailureFacts } from './explain-attempt.ts'

/** What a sender does who has no right to the addresses, or sends what nobody wants. */
const faultsOfSender: ReadonlySet<CauseCode> = new Set(['unknown_recipients', 'domain_reputation', 'content_rejected'])

/**
 * Whether a hard bounce is held against the account: its address does not exist or takes no mail, or the reply blames the sender. A block
 * of our address, a fault of ours or of the network, and a message that is too large or badly made do not count.
 */
export function isHarmful(bounce: Omit<FailureFacts, 'outcome'>): boolean {
  const { code, owner } = explainAttempt({ outcome: 'bounced', ...bounce })
  return code !== 'suppressed' && (owner === 'recipient' || faultsOfSender.has(code))
}
