import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../../src/mail-out/delivery/attempt.ts'
import { moveAfter, moveExpired, moveSuppressed } from '../../../src/mail-out/queue/recipient-state.ts'

const now = Date.UTC(2026, 10, 21, 6)
const context = { now, beganAt: now - 700, retryAt: now + 60_000, viaSmarthost: false }
const reply = (code: number, enhancedStatus: string | null, text: string) => ({ code, enhancedStatus, text })

const delivered: Outcome = { type: 'delivered', reply: reply(250, '2.0.0', '2.0.0 Ok') }
const deferred: Outcome = {
  type: 'deferred',
  reply: reply(451, '4.7.1', '4.7.1 Greylisted'),
  category: 'policy',
  reason: '451 4.7.1 Greylisted',
}
const unknown: Outcome = {
  type: 'bounced',
  hard: true,
  category: 'invalid_recipient',
  reply: reply(550, '5.1.1', '5.1.1 No such user'),
  reason: '550 5.1.1 No such user',
}
const full: Outcome = { ...unknown, hard: false, category: 'mailbox_full' }
const broken: Outcome = { type: 'bounced', hard: false, category: 'internal_error', reply: null, reason: 'It cannot be encoded.' }

describe('an outcome moves a recipient', () => {
  interface Case {
    name: string
    outcome: Outcome
    attempts: number
    viaSmarthost?: boolean
    state: string
    events: string[]
    dueAt?: number
    suppress?: boolean
  }
  test.each<Case>([
    { name: 'delivered at once', outcome: delivered, attempts: 0, state: 'delivered', events: ['email.sent', 'email.delivered'] },
    { name: 'delivered at last', outcome: delivered, attempts: 3, state: 'delivered', events: ['email.delivered'] },
    {
      name: 'taken by a smarthost',
      outcome: delivered,
      attempts: 0,
      viaSmarthost: true,
      state: 'sent',
      events: ['email.sent', 'email.relayed'],
    },
    {
      name: 'deferred at first',
      outcome: deferred,
      attempts: 0,
      state: 'deferred',
      events: ['email.sent', 'email.deferred'],
      dueAt: context.retryAt,
    },
    { name: 'deferred again', outcome: deferred, attempts: 1, state: 'deferred', events: ['email.deferred'], dueAt: context.retryAt },
    { name: 'unknown address', outcome: unknown, attempts: 0, state: 'bounced', events: ['email.sent', 'email.bounced'], suppress: true },
    { name: 'full mailbox', outcome: full, attempts: 2, state: 'bounced', events: ['email.bounced'] },
    { name: 'a fault of ours', outcome: broken, attempts: 0, state: 'failed', events: ['email.sent', 'email.bounced'] },
  ])('$name', ({ outcome, attempts, viaSmarthost = false, state, events, dueAt = null, suppress = false }) => {
    const move = moveAfter(outcome, { attempts }, { ...context, viaSmarthost })
    expect({ ...move, suppress: move.bounce?.hard ?? false }).toMatchObject({ state, dueAt, suppress })
    expect(move.events.map(({ type }) => type)).toEqual(events)
  })

  test('a bounce tells what the API promises, and nothing else', () => {
    const [, bounced] = moveAfter(unknown, { attempts: 0 }, context).events
    expect(bounced?.data).toEqual({
      bounced_at: '2026-11-21T06:00:00.000Z',
      bounce_type: 'hard',
      bounce_category: 'invalid_recipient',
      smtp_code: 550,
      enhanced_status: '5.1.1',
      reason: '550 5.1.1 No such user',
    })
  })

  test.each([delivered, deferred, unknown])('sent has the time of the beginning of its attempt, $type that of its end', (outcome) => {
    const [sent, ended] = moveAfter(outcome, { attempts: 0 }, context).events
    expect(sent).toEqual({ type: 'email.sent', data: { sent_at: '2026-11-21T05:59:59.300Z' }, at: now - 700 })
    expect(Object.values(ended?.data ?? {})).toContain('2026-11-21T06:00:00.000Z')
    const [expired] = moveAfter(outcome, { attempts: 0 }, { ...context, retryAt: null }).events
    expect(expired).toEqual(sent)
  })

  test('delivered carries its time alone', () => {
    expect(moveAfter(delivered, { attempts: 1 }, context).events[0]?.data).toEqual({ delivered_at: '2026-11-21T06:00:00.000Z' })
  })

  test('reasons are cut at a thousand characters', () => {
    const [, bounced] = moveAfter({ ...full, reason: 'x'.repeat(5000) }, { attempts: 0 }, context).events
    expect(bounced?.data.reason).toHaveLength(1000)
  })
})

test('a recipient whose time is over bounces softly with the last reply, and was sent before', () => {
  const move = moveExpired({ attempts: 0 }, { reply: null, reason: 'no attempt was made' }, { now })
  expect(move.events.map(({ type }) => type)).toEqual(['email.sent', 'email.bounced'])
  expect(move.events[1]?.data).toMatchObject({ bounce_type: 'soft', bounce_category: 'expired', smtp_code: null })
  const retried = moveExpired({ attempts: 4 }, { reply: reply(451, null, 'busy'), reason: '451 busy' }, { now })
  expect(retried.events).toHaveLength(1)
  expect(retried.events[0]?.data).toMatchObject({ smtp_code: 451, reason: 'Given up: not delivered in time. Last: 451 busy' })
})

test('a suppressed recipient is told of by one event, without having been sent to', () => {
  const move = moveSuppressed(now)
  expect(move).toMatchObject({ state: 'suppressed', dueAt: null, bounce: null })
  expect(move.events.map(({ type, data }) => [type, data.bounce_type, data.bounce_category])).toEqual([
    ['email.bounced', 'hard', 'suppressed'],
  ])
})
