import type { ReportedRecipient } from './feedback.ts'
import type { ReturnedMessage } from './returned-message.ts'

/**
 * Corrects final delays to failures. OpenSMTPD up to 6.8 derives the action from the class of the status, and uses a transient one when
 * mail expires, so it announces another seven days.
 */
export function withGivenUp(recipients: ReportedRecipient[], { text }: ReturnedMessage): ReportedRecipient[] {
  if (!recipients.some(({ action }) => action === 'delayed')) return recipients
  const lines = text.matchAll(/^(\S{1,320}): (Envelope expired|Loop detected)$/gm)
  const reasons = new Map(Array.from(lines, ([, address = '', reason = '']) => [address, reason]))
  return recipients.map((recipient) => {
    const reason = reasons.get(recipient.address ?? '')
    if (reason === undefined || recipient.action !== 'delayed') return recipient
    return { ...recipient, action: 'failed', category: reason === 'Envelope expired' ? 'expired' : 'other', reason }
  })
}
