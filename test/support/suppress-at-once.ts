import type { SuppressionPolicy } from '../../src/senders/account/account-policy.ts'

/** As the settings are unless somebody changes them. */
export const suppressAtOnce: SuppressionPolicy = { hardBounces: true, complaints: true, softBounces: 0, expiry: 0 }
