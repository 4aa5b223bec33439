import { isoTime } from '../../platform/iso-time.ts'
import type { Account } from '../../senders/account/accounts.ts'
import { type Finding, sayOf } from './finding.ts'

/** The accounts that the server has slowed or suspended by itself. Reports nothing of the others. */
export function judgeAccounts(accounts: readonly Account[], now: number): Finding[] {
  const say = sayOf('account')
  return accounts.flatMap(({ id: account, name, status, harm, slowedUntil }): Finding[] => {
    if (harm === null) return []
    if (status === 'suspended') return [say.warning('account_suspended', { account, name, reason: harm })]
    return slowedUntil !== null && slowedUntil > now
      ? [say.warning('account_slowed', { name, until: isoTime(slowedUntil), reason: harm })]
      : []
  })
}
