import type { SuppressionPolicy } from '../../senders/account/account-policy.ts'
import type { AccountScope } from '../../senders/account/account-scope.ts'
import { restsOnDns, type BounceCategory } from '../bounce-parser/refusal.ts'
import type { Database, Statement } from '../../platform/store/database.ts'
import { insertSuppression } from './insert-suppression.ts'
import { forgetUnknownUser, recordUnknownUser, unknownUserReportedBefore, toldTwice } from './unknown-user-reports.ts'
import { countDelivery, countSoftBounce, suppressFrequent } from './soft-bounces.ts'

/** Mail to an address. */
interface AddressedTo {
  address: string
  messageId: string
  recipientId: string
}

/** Soft bounces that concern the address. Blocked senders, refused content and our own faults do not. */
const concernsAddress = new Set<BounceCategory>(['invalid_recipient', 'mailbox_full', 'timeout', 'expired'])

/** Why mail was given up. */
export interface FinalFailure {
  hard: boolean
  category: BounceCategory
  smtpCode: number | null
  enhancedStatus: string | null
  reason: string
  /** See `Judgement`. */
  inWords?: true | undefined
  /** When the address was called unknown before, epoch ms, if this is the second time: see `withEarlierBounce`. */
  saidBefore?: number | undefined
}

/** The reason as events and suppressions show it. */
export const reasonInWords = ({ reason, saidBefore }: Pick<FinalFailure, 'reason' | 'saidBefore'>, now: number): string =>
  saidBefore === undefined ? reason : toldTwice(reason, saidBefore, now)

const isUnproven = ({ hard, inWords }: Pick<FinalFailure, 'hard' | 'inWords'>): boolean => inWords === true && !hard

/**
 * Adds `saidBefore` to a failure if it applies. Call it before writing what follows from a failure. It queries the database only if words
 * alone call the address unknown, and that suppresses.
 */
export async function withEarlierBounce<F extends Pick<FinalFailure, 'hard' | 'inWords'>>(
  failure: F,
  mail: AccountScope & Pick<AddressedTo, 'address' | 'recipientId'>,
  { db, policy, now }: { db: Pick<Database, 'read' | 'slowRead'>; policy: SuppressionPolicy; now: number },
): Promise<F & Pick<FinalFailure, 'saidBefore'>> {
  if (!isUnproven(failure) || !policy.hardBounces) return failure
  return { ...failure, saidBefore: (await unknownUserReportedBefore(db, mail, now)) ?? undefined }
}

/** What a final failure does to the list: nothing if it rests on the DNS alone, which may be wrong. */
export function suppressAfterBounce(
  scope: AccountScope,
  bounce: AddressedTo & FinalFailure,
  policy: SuppressionPolicy,
  now: number,
): Statement[] {
  if (restsOnDns(bounce)) return []
  const { address, messageId: sourceId, recipientId } = bounce
  const said = { ...scope, address }
  const expiresAt = policy.expiry === 0 ? null : now + policy.expiry
  const entry = { address, origin: 'bounce' as const, sourceId, reason: reasonInWords(bounce, now), createdAt: now, expiresAt }
  if (bounce.hard) return policy.hardBounces ? [insertSuppression(scope, entry)] : []
  if (bounce.saidBefore !== undefined) return [insertSuppression(scope, entry), forgetUnknownUser(said)]
  const noted = isUnproven(bounce) && policy.hardBounces ? [recordUnknownUser(said, now)] : []
  if (policy.softBounces === 0 || !concernsAddress.has(bounce.category)) return noted
  return [...noted, countSoftBounce(scope, { address, recipientId }, now), suppressFrequent(scope, entry, policy.softBounces)]
}

/** What a complaint does to the list. Such a suppression never expires. */
export const suppressAfterComplaint = (
  scope: AccountScope,
  { address, messageId, reason }: Omit<AddressedTo, 'recipientId'> & { reason: string },
  policy: SuppressionPolicy,
  now: number,
): Statement[] =>
  policy.complaints ? [insertSuppression(scope, { address, origin: 'complaint', sourceId: messageId, reason, createdAt: now })] : []

/** What a delivery does to earlier soft bounces. Costs nothing if they are not counted. */
export const noteDelivered = (
  scope: AccountScope,
  { address, recipientId }: Omit<AddressedTo, 'messageId'>,
  policy: SuppressionPolicy,
  now: number,
): Statement[] => (policy.softBounces === 0 ? [] : [countDelivery(scope, { address, recipientId }, now)])
