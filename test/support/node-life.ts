import { expect } from 'vitest'
import { Claims } from '../../src/platform/store/claims.ts'
import type { LimitWindows } from '../../src/platform/store/limit-shares.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { LeasedShares } from '../../src/platform/store/leased-shares.ts'
import { hasNodes } from '../../src/platform/store/leased-nodes.ts'
import { silentLog } from '../../src/platform/log.ts'
import { MailQuotas } from '../../src/senders/account/mail-quotas.ts'
import { countMail } from './count-mail.ts'
import { leasedNode, pass, whileTimePasses, type TestNode } from './leased-node.ts'
import { settableClock } from './settable-clock.ts'

/** Beside a relay that does not beat, and is buried for it, one node dies, another takes over, a third is refused, and all stop. */
export async function outliveNodes(db: Database): Promise<void> {
  const clock = settableClock()
  const dead = await whileTimePasses(db, [clock], leasedNode(db, { clock }))
  const next = await leasedNode(db)
  claimsOf(next, db)
  const [ofDead, ofNext] = [requestsAt(dead, db), requestsAt(next, db)]
  for (const windows of [ofDead, ofNext]) expect(await windows.of('acc_1').take(10)).toBe(true)
  await divideQuota(db, dead, next)
  await ofNext.stop()
  const end = await next.nodes.duty('sweeping', async () => () => {})
  await pass(1, dead, next)
  await pass(6, next)
  expect(next.nodes.live()).toEqual([next.nodes.self])
  await end()
  expect(await hasNodes(db)).toBe(true)
  const unlike = leasedNode(db, { settings: { mode: 'sandbox' }, clock })
  await expect(whileTimePasses(db, [clock, next.clock], unlike)).rejects.toThrow('mode is sandbox here')
  await next.nodes.leave()
  expect(await hasNodes(db)).toBe(false)
  next.clock.advance(60_000)
  await ofNext.stop()
  expect(await db.read('select name from node')).toEqual([])
}

function requestsAt({ nodes, clock }: TestNode, db: Database): LimitWindows {
  const shares = new LeasedShares({ db, clock })
  shares.join(nodes)
  return shares.windows('requests', { windowMs: 60_000, isKept: true })
}

/** Each takes a share, and one all that is left. */
async function divideQuota(db: Database, ...both: [TestNode, TestNode]): Promise<void> {
  const [first, second] = both.map(({ nodes, clock }) => {
    const quotas = new MailQuotas({ db, clock, log: silentLog, policies: { of: (): never => ({ day: 100, month: 'unlimited' }) as never } })
    quotas.join(nodes)
    return (recipients: number) => countMail(quotas, db, { accountId: 'acc_divided', byDomain: new Map([['dom_1', recipients]]) })
  }) as [(recipients: number) => Promise<void>, (recipients: number) => Promise<void>]
  for (const count of [first, second, second]) await count(1)
  await second(45)
}

const claimsOf = ({ nodes, clock }: TestNode, db: Database): Claims =>
  new Claims({ db, clock, log: silentLog, nodes, table: 'recipient', what: 'due mail', fields: () => ({}), onDue() {}, onFreed() {} })
