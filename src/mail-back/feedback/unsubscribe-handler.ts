import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/store/database.ts'
import type { ErasedAddress } from '../../mail/suppression/erased-address.ts'
import { endSubscription, subscriptionOfRecipient } from '../../mail/suppression/unsubscribe.ts'
import { keptOutcome } from './erased-recipient.ts'
import { withoutEffect, type ReturnedMailHandler } from './returned-mail-handler.ts'

/**
 * Handles mail to the address of a List-Unsubscribe field (RFC 2369). Whatever it says, it means
 * "unsubscribe". The address proves for whom.
 */
export const unsubscribeHandler =
  ({ clock, ...services }: { db: Pick<Database, 'read'>; clock: Clock; erasedAddress: ErasedAddress }): ReturnedMailHandler =>
  async (mail) => {
    const { recipientId } = mail
    if (recipientId === null) return withoutEffect('no_token')
    const subscription = await subscriptionOfRecipient(recipientId, services)
    if (!subscription) return withoutEffect('unknown_recipient')
    const { accountId, messageId, address } = subscription.target
    const about = { accountId, messageId, recipientId }
    const statements = endSubscription(subscription, 'mailto', clock.now())
    const outcome =
      statements.length === 0 ? withoutEffect('duplicate', null, about) : { ...withoutEffect('unsubscribed', null, about), statements }
    return keptOutcome(outcome, mail, address)
  }
