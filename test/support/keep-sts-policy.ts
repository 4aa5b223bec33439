import type { BaseServices } from '../../src/platform/base-services.ts'

/** The MTA-STS policy of a domain, as if mail had gone by it; gives the domain. */
export async function keepStsPolicy({ db, clock }: Pick<BaseServices, 'db' | 'clock'>): Promise<string> {
  const domain = 'policy.example'
  const sql = `insert into mta_sts_policy (domain, announced_id, mode, mx, max_age_ms, fetched_at, tried_at, used_at)
               values (:domain, '1', 'enforce', 'mx.policy.example', 86400000, :now, :now, :now)`
  await db.write([{ sql, params: { domain, now: clock.now() } }])
  return domain
}
