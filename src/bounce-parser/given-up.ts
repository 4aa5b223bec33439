import type { ReportedRecipient } from './feedback.ts'
import type { ReturnedMessage } from './returned-message.ts'

/**
 * The recipients, those as failed of whom a delay is reported that is the end. OpenSMTPD up to 6.8 takes the action from the
 * class of the status, and has a transient one for what it keeps no longer: it promises another seven days.
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
