import type { AccountScope } from '../../senders/account/account-scope.ts'
import { systemAccountId } from '../../senders/account/system-account.ts'
import type { Statement } from '../../platform/store/database.ts'
import { suppressionAddress } from './suppression-address.ts'

/** What the mail of an account is held against it for. */
export const harmKinds = ['hard_bounce', 'complaint'] as const
export type HarmKind = (typeof harmKinds)[number]

/** The time in which recipients count, ms. */
export const harmWindowMs = 86_400_000

/** Counts a recipient of live mail against the account: once a day, however often. */
export const noteHarm = ({ accountId, sandbox }: AccountScope, kind: HarmKind, address: string, now: number): Statement[] =>
  sandbox || accountId === systemAccountId
    ? []
    : [
        {
          sql: `insert into account_harm (account_id, kind, address, happened_at) values (:accountId, :kind, :address, :now)
                on conflict (account_id, kind, address) do update set happened_at = excluded.happened_at
                  where account_harm.happened_at <= :before`,
          params: { accountId, kind, address: suppressionAddress(address), now, before: now - harmWindowMs },
        },
      ]
