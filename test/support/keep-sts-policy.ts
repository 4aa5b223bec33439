import type { KnownSts } from '../../src/mail-out/mta-sts/known-sts.ts'
import type { BaseServices } from '../../src/platform/base-services.ts'

/** The MTA-STS policy of a domain, as if mail had gone by it; gives the domain. */
export async function keepStsPolicy({ db, clock }: Pick<BaseServices, 'db' | 'clock'>): Promise<string> {
  const domain = 'policy.example'
  const sql = `insert into mta_sts_policy (domain, announced_id, mode, mx, max_age_ms, fetched_at, tried_at, used_at)
               values (:domain, '1', 'enforce', 'mx.policy.example', 86400000, :now, :now, :now)`
  await db.write([{ sql, params: { domain, now: clock.now() } }])
  return domain
}

const name = ['a', 'b', 'c'].map((letter) => letter.repeat(60)).join('.')
const largeMx = Array.from({ length: 300 }, (_, i) => `${i}.${name}.test`)

/** More policies than memory holds, the last used at the end. */
export const largePolicies = (at: number): KnownSts[] =>
  Array.from({ length: 320 }, (_, i) => ({
    domain: `large${i}.example`,
    policy: { mode: 'enforce', mx: largeMx, maxAgeMs: 604_800_000 },
    id: '1',
    fetchedAt: at,
    triedAt: at,
    fault: null,
    usedAt: at + i,
  }))

/** The same as rows. */
export async function keepLargePolicies({ db }: Pick<BaseServices, 'db'>, at: number): Promise<void> {
  const sql = `insert into mta_sts_policy (domain, announced_id, mode, mx, max_age_ms, fetched_at, tried_at, used_at)
               values (:domain, '1', 'enforce', :mx, 604800000, :at, :at, :usedAt)`
  const mx = largeMx.join(' ')
  await db.write(largePolicies(at).map(({ domain, usedAt }) => ({ sql, params: { domain, mx, at, usedAt } })))
}
