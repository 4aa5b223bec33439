import type { ReportedRecipient } from './feedback-report.ts'
import { textOf } from './returned-message.ts'
import type { ReturnedMessage } from './returned-message.ts'

/**
 * The recipient as failed, where a delay is reported that is the end. OpenSMTPD up to 6.8 takes the action from the class of
 * the status, and has a transient one for what it keeps no longer: it promises another seven days.
 */
export function asGivenUp(recipient: ReportedRecipient, message: ReturnedMessage): ReportedRecipient {
  const { action, address } = recipient
  if (action !== 'delayed' || address === null) return recipient
  const line = textOf(message)
    .split('\n')
    .find((each) => each.startsWith(`${address}: `))
  const [, reason] = /: (Envelope expired|Loop detected)$/.exec(line ?? '') ?? []
  if (reason === undefined) return recipient
  return { ...recipient, action: 'failed', category: reason === 'Envelope expired' ? 'expired' : 'other', reason }
}
