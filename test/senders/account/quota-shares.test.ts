import { expect, test } from 'vitest'
import { silentLog } from '../../../src/platform/log.ts'
import { mailQuota, type OwnQuota } from '../../../src/senders/account/account-policy.ts'
import { MailQuotas } from '../../../src/senders/account/mail-quotas.ts'
import { accountPolicies } from '../../support/account-policies.ts'
import { countMail } from '../../support/count-mail.ts'
import { leasedNode, pass } from '../../support/leased-node.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const day = 86_400_000
const noon = Date.UTC(2026, 10, 29, 12)
const midnight = noon + day / 2

/** Two nodes over one database that divide the quota of an account. */
async function two(limits: Partial<OwnQuota>) {
  const db = await testDatabase()
  const start = async () => {
    const clock = settableClock(noon)
    const policies = accountPolicies(db)
    const node = await leasedNode(db)
    const quotas = new MailQuotas({ db, clock, log: silentLog, policies })
    quotas.join(node.nodes)
    const change = (to: Partial<OwnQuota>) => policies.change(mailQuota, 'acc_1', to)
    await change(limits)
    const send = (recipients = 1) => countMail(quotas, db, { accountId: 'acc_1', byDomain: new Map([['dom_1', recipients]]) })
    /** How many of so many messages at once are taken; all others must have been refused for the quota. */
    const taken = async (messages: number, recipients = 1): Promise<number> => {
      const sent = await Promise.allSettled(Array.from({ length: messages }, () => send(recipients)))
      const refused = sent.filter((one) => one.status === 'rejected')
      for (const { reason } of refused) expect(reason).toMatchObject({ code: expect.stringMatching(/^(daily|monthly)_quota_exceeded$/) })
      return messages - refused.length
    }
    const used = async () => Object.values(await quotas.useOf('acc_1')).map((use) => use.used)
    return { node, clock, change, send, taken, used }
  }
  const [a, b] = [await start(), await start()]
  // Each hears of the other with its next beat.
  await pass(1, a.node, b.node)
  expect(a.node.nodes.live()).toHaveLength(2)
  return { db, a, b }
}

test('two nodes that are sent to at once take exactly the quota', async () => {
  const { db, a, b } = await two({ day: 50 })
  let sum = 0
  for (let round = 0; round < 10; round++) for (const one of await Promise.all([a.taken(4), b.taken(4)])) sum += one
  expect(sum).toBe(50)
  expect([await a.used(), await b.used()]).toEqual([
    [50, 50],
    [50, 50],
  ])
  expect(await db.read('select day_recipients from mail_usage')).toEqual([{ day_recipients: 50 }])
})

test('a node that gets all the mail uses up the whole quota, of both kinds', async () => {
  const { a, b } = await two({ day: 40, month: 50 })
  expect(await a.taken(30, 3)).toBe(13)
  expect([await a.taken(2), await b.taken(1)]).toEqual([1, 0])
  for (const { clock } of [a, b]) clock.advance(day)
  // What of yesterday's shares was not used counts in the month no more.
  const [ofA, ofB] = await Promise.all([a.taken(20), b.taken(20)])
  expect([ofA + ofB, await b.used()]).toEqual([10, [10, 50]])
})

test('of what a dead node had, what it used stays used, and the others have the rest', async () => {
  const { a, b } = await two({ day: 50 })
  for (const node of [b, a]) expect(await node.taken(2)).toBe(2)
  expect(await b.used()).toEqual([4, 4])
  await pass(7, b.node)
  expect(b.node.nodes.live()).toHaveLength(1)
  expect(await b.taken(60)).toBe(46)
})

test('nodes of which one is in the next day already count both days once', async () => {
  const { a, b } = await two({ day: 10 })
  a.clock.advance(midnight - noon)
  b.clock.advance(midnight - noon - 1)
  expect(await b.taken(3)).toBe(3)
  expect([await a.taken(6), await b.taken(3), await a.taken(1), await b.taken(9), await a.taken(9)]).toEqual([6, 3, 1, 0, 0])
  b.clock.advance(1)
  expect(await b.taken(1)).toBe(0)
})

test('a lower quota holds at once, also for what a node has a share of', async () => {
  const { a, b } = await two({ day: 1000 })
  expect([await a.taken(1), await b.taken(1)]).toEqual([1, 1])
  await Promise.all([a.change({ day: 12 }), b.change({ day: 12 })])
  const taken = await Promise.all([a.taken(20), b.taken(20)])
  expect(taken[0] + taken[1]).toBe(10)
})
