import type { Clock } from '../clock.ts'
import type { Database } from '../store/database.ts'
import type { ErasedAddress } from '../suppression/erased-address.ts'
import { endSubscription, subscriptionOfRecipient } from '../suppression/unsubscribe.ts'
import { withoutEffect } from './report-handler.ts'
import type { ReportHandler } from './report-handler.ts'

/**
 * Mail to a mailbox of a List-Unsubscribe field (RFC 2369): whatever it says, whoever sends it wants no more. Its address
 * proves who that is.
 */
export const unsubscribeHandler =
  ({ clock, ...parts }: { db: Pick<Database, 'read'>; clock: Clock; erasedAddress: ErasedAddress }): ReportHandler =>
  async ({ recipientId }) => {
    if (recipientId === null) return withoutEffect('no_token')
    const subscription = await subscriptionOfRecipient(recipientId, parts)
    if (!subscription) return withoutEffect('unknown_recipient')
    const { accountId, messageId } = subscription.target
    const about = { accountId, messageId, recipientId }
    const statements = endSubscription(subscription, 'mailto', clock.now())
    if (statements.length === 0) return withoutEffect('duplicate', null, about)
    return { ...withoutEffect('unsubscribed', null, about), statements, hasEvents: subscription.event !== null }
  }
