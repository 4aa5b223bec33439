import type { AccountScope } from '../../senders/account/account-scope.ts'
import { systemAccountId } from '../../senders/account/system-account.ts'
import type { Statement } from '../../platform/store/database.ts'
import { suppressionAddress } from './suppression-address.ts'

/** What is held against an account. */
export type HarmKind = 'hard_bounce' | 'complaint'

/** The time in which recipients count, ms. */
export const harmWindowMs = 86_400_000

interface HarmSubject {
  recipientId: string
  address: string
}

/**
 * Counts a recipient of live mail against the account: once a day, however often. It counts from its first attempt, as sent mail does.
 * Bounces and complaints that come more than a day later are left out, because the mail that they belong to is no longer counted either.
 */
export const noteHarm = (
  { accountId, sandbox }: AccountScope,
  kind: HarmKind,
  { recipientId, address }: HarmSubject,
  now: number,
): Statement[] =>
  sandbox || accountId === systemAccountId
    ? []
    : [
        {
          sql: `insert into account_harm (account_id, kind, address, happened_at)
                select account_id, :kind, :address, sent_at from recipient where id = :recipientId and sent_at > :since
                on conflict (account_id, kind, address) do update set happened_at = excluded.happened_at
                  where account_harm.happened_at < excluded.happened_at`,
          params: { kind, address: suppressionAddress(address), recipientId, since: now - harmWindowMs },
        },
      ]
