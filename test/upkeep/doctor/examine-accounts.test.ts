import { expect, test } from 'vitest'
import { judgeAccounts } from '../../../src/upkeep/doctor/examine-accounts.ts'

const now = Date.UTC(2026, 10, 21)
const account = { id: 'acc_1', name: 'shop', plan: 'free', status: 'active', slowedUntil: null, harm: null, createdAt: 0 } as const

test('the doctor names the accounts that the server has suspended or slowed, and nobody else', () => {
  const harm = 'Of 40 recipients in 24 hours, 4 complained (10.00 %); the limit is 0.5 %.'
  const found = judgeAccounts(
    [
      account,
      { ...account, status: 'suspended' },
      { ...account, status: 'suspended', harm },
      { ...account, slowedUntil: now + 1, harm },
      { ...account, slowedUntil: now, harm },
    ],
    now,
  )
  expect(found.map(({ check, status, what }) => [check, status, what])).toEqual([
    ['account', 'warning', `The account "shop" is suspended, and its queued mail is held. ${harm}`],
    ['account', 'warning', `The account "shop" may mail only a few recipients a minute until 2026-11-21T00:00:00.001Z. ${harm}`],
  ])
})
