import type { AccountScope } from '../account/account-scope.ts'
import { restsOnDns, type BounceCategory } from '../bounce-parser/refusal.ts'
import type { Database, Statement } from '../store/database.ts'
import { insertSuppression } from './insert-suppression.ts'
import { forgetSaidUnknown, noteSaidUnknown, saidUnknownBefore, toldTwice } from './said-unknown.ts'
import { countDelivery, countSoftBounce, suppressFrequent } from './soft-bounces.ts'

/** What puts an address on the list. */
export interface SuppressionPolicy {
  /** A hard bounce suppresses, and the second one that only words call so. */
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
  /** See `Judgement`. */
  inWords?: true | undefined
  /** When the same was said of the address before, epoch ms, where that makes this the second time: see `withEarlierReport`. */
  saidBefore?: number | undefined
}

/** Why mail was given up, as events and suppressions tell it. */
export const reasonInWords = ({ reason, saidBefore }: Pick<FinalFailure, 'reason' | 'saidBefore'>, now: number): string =>
  saidBefore === undefined ? reason : toldTwice(reason, saidBefore, now)

const isUnproven = ({ hard, inWords }: Pick<FinalFailure, 'hard' | 'inWords'>): boolean => inWords === true && !hard

/**
 * A failure with `saidBefore`, where that is so. To be called before what follows of a failure is written; it asks the database only
 * where words alone call the address unknown, and that is to suppress.
 */
export async function withEarlierReport<F extends Pick<FinalFailure, 'hard' | 'inWords'>>(
  failure: F,
  mail: AccountScope & Pick<AddressedTo, 'address' | 'recipientId'>,
  { db, policy, now }: { db: Pick<Database, 'read' | 'report'>; policy: SuppressionPolicy; now: number },
): Promise<F & Pick<FinalFailure, 'saidBefore'>> {
  if (!isUnproven(failure) || !policy.hardBounces) return failure
  return { ...failure, saidBefore: (await saidUnknownBefore(db, mail, now)) ?? undefined }
}

/** What a final failure means for the list: nothing where the DNS alone said so, for that may be wrong. */
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
  if (bounce.saidBefore !== undefined) return [insertSuppression(scope, entry), forgetSaidUnknown(said)]
  const noted = isUnproven(bounce) && policy.hardBounces ? [noteSaidUnknown(said, now)] : []
  if (policy.softBounces === 0 || !concernsAddress.has(bounce.category)) return noted
  return [...noted, countSoftBounce(scope, { address, recipientId }, now), suppressFrequent(scope, entry, policy.softBounces)]
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
