import { expect, test } from 'vitest'
import { judgeHarm } from '../../../src/notify/account-harm/judge-harm.ts'

const limits = {
  bouncesSlow: 50,
  bouncesSuspend: 100,
  bouncesFrom: 50,
  complaintsSlow: 1,
  complaintsSuspend: 5,
  complaintsFrom: 5,
  slowedPerMinute: 10,
}

test.each([
  ['few of many', { sent: 1000, hard_bounce: 49, complaint: 0 }, null],
  ['too few to count', { sent: 40, hard_bounce: 40, complaint: 4 }, null],
  ['as many bounces as slow', { sent: 1000, hard_bounce: 50, complaint: 0 }, 'slowed: 50 hard bounced (5.00 %); the limit is 5 %'],
  ['as many bounces as suspend', { sent: 500, hard_bounce: 50, complaint: 0 }, 'suspended: 50 hard bounced (10.00 %); the limit is 10 %'],
  ['as many complaints as slow', { sent: 5000, hard_bounce: 0, complaint: 5 }, 'slowed: 5 complained (0.10 %); the limit is 0.1 %'],
  ['complaints before bounces', { sent: 1000, hard_bounce: 100, complaint: 5 }, 'suspended: 5 complained (0.50 %); the limit is 0.5 %'],
  ['what suspends before what slows', { sent: 5000, hard_bounce: 500, complaint: 5 }, 'suspended: 500 hard bounced (10.00 %)'],
  ['before it is known how much was sent', { sent: 0, hard_bounce: 50, complaint: 0 }, 'suspended: 50 hard bounced (100.00 %)'],
])('%s', (_, counts, expected) => {
  const judged = judgeHarm(counts, limits)
  const shown = judged && `${judged.isSuspended ? 'suspended' : 'slowed'}: ${judged.reason.replace(/^.*?, /, '')}`
  expect(shown).toEqual(expected && expect.stringContaining(expected))
})

test('a limit of 0 is none, and nothing is judged where nothing happened', () => {
  const counts = { sent: 10, hard_bounce: 10, complaint: 10 }
  expect(judgeHarm(counts, { ...limits, bouncesSlow: 0, bouncesSuspend: 0, complaintsSlow: 0, complaintsSuspend: 0 })).toBeNull()
  expect(judgeHarm({ sent: 10, hard_bounce: 0, complaint: 0 }, { ...limits, bouncesFrom: 0, complaintsFrom: 0 })).toBeNull()
})
