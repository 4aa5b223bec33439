import { isoTime } from '../../platform/iso-time.ts'
import { type Account, accountAt } from '../../senders/account/accounts.ts'
import { type Finding, sayOf } from './finding.ts'

/** The accounts that the server has slowed or suspended by itself. Reports nothing of the others. */
export function judgeAccounts(accounts: readonly Account[], now: number): Finding[] {
  const say = sayOf('account')
  return accounts.flatMap((each): Finding[] => {
    const { id: account, name, harm: reason, slowedUntil } = accountAt(each, now)
    if (reason === null) return []
    return slowedUntil === null
      ? [say.warning('account_suspended', { account, name, reason })]
      : [say.warning('account_slowed', { name, until: isoTime(slowedUntil), reason })]
  })
}
