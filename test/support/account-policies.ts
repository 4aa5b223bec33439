import { AccountPolicies } from '../../src/senders/account/account-policies.ts'
import type { PolicyConfig } from '../../src/senders/account/policy.ts'
import { aloneWithChanges } from '../../src/platform/store/changes.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { neverHarmful } from './never-harmful.ts'
import { suppressAtOnce } from './suppress-at-once.ts'

/** Policies as the settings have them, without quotas; `plan`: that of every account. */
export const accountPolicies = (db: Pick<Database, 'read' | 'write'>, settings: object = {}, plan?: string): AccountPolicies =>
  new AccountPolicies({
    db,
    changes: aloneWithChanges,
    accounts: { accountFor: (id) => (id.startsWith('acc_') && plan !== undefined ? { plan } : undefined) as never },
    config: {
      delivery: { retrySchedule: [60_000], recipientTls: {} },
      quotas: { daily: {}, monthly: {}, urgentPerMinute: 60 },
      harm: neverHarmful,
      suppression: suppressAtOnce,
      ...settings,
    } as PolicyConfig,
  })
