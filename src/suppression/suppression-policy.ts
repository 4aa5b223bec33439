import type { AccountScope } from '../account/account-scope.ts'
import { restsOnDns } from '../bounce/refusal.ts'
import type { BounceCategory } from '../bounce/refusal.ts'
import type { Statement } from '../store/database.ts'
import { insertSuppression } from './insert-suppression.ts'
import { countDelivery, countSoftBounce, suppressFrequent } from './soft-bounces.ts'

/** What puts an address on the list. */
export interface SuppressionPolicy {
  /** A hard bounce suppresses. */
  hardBounces: boolean
  /** A complaint suppresses. */
  complaints: boolean
  /** So many soft bounces without a delivery between them suppress; 0: they never do. */
  softBounces: number
  /** How long a suppression after bounces counts, ms; 0: until it is removed. */
  expiry: number
}

/** Mail that an address got, or did not get. */
interface AddressedTo {
  address: string
  messageId: string
  recipientId: string
}

/** Soft bounces that tell something of the address; blocked senders, refused contents and faults of ours do not. */
const concernsAddress = new Set<BounceCategory>(['invalid_recipient', 'mailbox_full', 'timeout', 'expired'])

/** Why mail was given up. */
export interface FinalFailure {
  hard: boolean
  category: BounceCategory
  smtpCode: number | null
  enhancedCode: string | null
  reason: string
}

/** What a final failure means for the list: nothing where the DNS alone said so, for that may be wrong. */
export function suppressAfterBounce(
  scope: AccountScope,
  bounce: AddressedTo & FinalFailure,
  policy: SuppressionPolicy,
  now: number,
): Statement[] {
  if (restsOnDns(bounce)) return []
  const { address, messageId: sourceId, recipientId, reason } = bounce
  const expiresAt = policy.expiry === 0 ? null : now + policy.expiry
  const entry = { address, origin: 'bounce' as const, sourceId, reason, createdAt: now, expiresAt }
  if (bounce.hard) return policy.hardBounces ? [insertSuppression(scope, entry)] : []
  if (policy.softBounces === 0 || !concernsAddress.has(bounce.category)) return []
  return [countSoftBounce(scope, { address, recipientId }, now), suppressFrequent(scope, entry, policy.softBounces)]
}

/** What a complaint means for the list; it does not expire. */
export const suppressAfterComplaint = (
  scope: AccountScope,
  { address, messageId, reason }: Omit<AddressedTo, 'recipientId'> & { reason: string },
  policy: SuppressionPolicy,
  now: number,
): Statement[] =>
  policy.complaints ? [insertSuppression(scope, { address, origin: 'complaint', sourceId: messageId, reason, createdAt: now })] : []

/** What a delivery means for the soft bounces before it; costs nothing where they are not counted. */
export const noteDelivered = (
  scope: AccountScope,
  { address, recipientId }: Omit<AddressedTo, 'messageId'>,
  policy: SuppressionPolicy,
  now: number,
): Statement[] => (policy.softBounces === 0 ? [] : [countDelivery(scope, { address, recipientId }, now)])
