import type { DeliveryRecipient } from './attempt.ts'
import { wireAddress, type WireAddress } from './envelope-address.ts'
import { bounce, type HostOutcome } from './outcome.ts'

/** The envelope of one transaction, as it may be written. */
export interface TransferEnvelope {
  reversePath: WireAddress | null
  forwardPath: WireAddress
}

/** The envelope, or why it cannot be written. */
export function envelopeOf({ reversePath, forwardPath }: DeliveryRecipient): TransferEnvelope | HostOutcome {
  const to = wireAddress(forwardPath)
  if (!to) return { outcome: bounce('5.1.3 the address cannot be written in SMTP', 'invalid_recipient'), nextHost: false }
  const from = reversePath === '' ? null : wireAddress(reversePath)
  if (!from && reversePath !== '')
    return { outcome: bounce('5.1.7 the reverse-path cannot be written in SMTP', 'internal_error'), nextHost: false }
  return { reversePath: from, forwardPath: to }
}
