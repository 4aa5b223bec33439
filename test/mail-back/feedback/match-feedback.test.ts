import { describe, expect, test } from 'vitest'
import type { Feedback, ReportedRecipient } from '../../../src/mail/bounce-parser/feedback.ts'
import { matchFeedback, type MatchedRecipient } from '../../../src/mail-back/feedback/match-feedback.ts'

const delivered: MatchedRecipient = {
  forwardPath: 'ann@rcpt.example',
  state: 'delivered',
  isInHand: false,
  deliveredAt: 1,
  complainedAt: null,
}
const entry = (changes: Partial<ReportedRecipient> = {}): ReportedRecipient => ({
  address: 'ann@rcpt.example',
  action: 'failed',
  hard: true,
  status: '5.1.1',
  category: 'invalid_recipient',
  smtpCode: 550,
  reason: '550 5.1.1 no such user',
  ...changes,
})
const feedbackOf = (changes: Partial<Feedback>): Feedback => ({
  class: 'bounce',
  recipients: [],
  complaint: null,
  original: { reference: null, unsubscribe: null, reversePath: null, messageId: null },
  subject: '',
  ...changes,
})
const bounce = (...recipients: ReportedRecipient[]) => feedbackOf({ recipients })
const complaint = (feedbackType: string, addresses: string[] = []) =>
  feedbackOf({
    class: 'complaint',
    complaint: { feedbackType, reportedBy: null },
    recipients: addresses.map((address) => entry({ address, action: 'delivered', hard: false })),
  })

describe('a bounce', () => {
  test.each([
    ['of the recipient', [entry()], 'envelope', true],
    ['that writes the address in capitals', [entry({ address: 'ANN@RCPT.EXAMPLE' })], 'envelope', true],
    ['that names nobody', [entry({ address: null })], 'envelope', true],
    ['of several, ours among them', [entry({ address: 'bob@rcpt.example', hard: false }), entry()], 'envelope', true],
    ['of several, ours late only', [entry({ address: 'bob@rcpt.example' }), entry({ hard: false })], 'envelope', false],
    ['of an address that it was forwarded to, with our message', [entry({ address: 'ann@elsewhere.example' })], 'message', false],
    [
      'of an address that it was forwarded to, with ours as the original one',
      [entry({ address: 'ann@elsewhere.example', originalAddress: 'Ann@rcpt.example' })],
      'envelope',
      false,
    ],
    ['of the recipient, forwarded elsewhere', [entry({ forwardedTo: 'ann@elsewhere.example' })], 'envelope', false],
    ['of a name without a domain', [entry({ address: 'ann' })], 'envelope', true],
    ['that may pass', [entry({ hard: false, category: 'mailbox_full' })], 'envelope', false],
    [
      'that was late before',
      [entry({ action: 'delayed', hard: false }), entry(), entry({ action: 'relayed', hard: false })],
      'envelope',
      true,
    ],
  ] as const)('%s bounces it', (_, entries, proof, hard) => {
    expect(matchFeedback(bounce(...entries), delivered, proof)).toMatchObject({ type: 'bounced', bounce: { hard } })
  })

  test('is hard only if it is about the address we wrote to', () => {
    const late = entry({ action: 'delayed', hard: false })
    expect(matchFeedback(bounce(late, entry({ address: 'bob@rcpt.example' })), delivered, 'message')).toEqual({
      type: 'nothing',
      result: 'delayed',
    })
  })

  test.each([
    ['sent', { type: 'bounced' }],
    ['bounced', { type: 'nothing', result: 'duplicate' }],
    ['complained', { type: 'nothing', result: 'duplicate' }],
    ['queued', { type: 'nothing', result: 'not_sent' }],
    ['deferred', { type: 'nothing', result: 'not_sent' }],
    ['scheduled', { type: 'nothing', result: 'not_sent' }],
    ['suppressed', { type: 'nothing', result: 'not_sent' }],
    ['canceled', { type: 'nothing', result: 'not_sent' }],
    ['failed', { type: 'nothing', result: 'not_sent' }],
  ] as const)('for a %s recipient', (state, consequence) => {
    expect(matchFeedback(bounce(entry()), { ...delivered, state, deliveredAt: null }, 'envelope')).toMatchObject(consequence)
  })

  test('for a recipient in hand waits for the outcome', () => {
    expect(matchFeedback(bounce(entry()), { ...delivered, state: 'queued', isInHand: true }, 'envelope')).toEqual({ type: 'wait' })
  })
})

describe('a complaint', () => {
  test.each([
    ['abuse', 'complained'],
    ['fraud', 'complained'],
    ['virus', 'complained'],
    ['other', 'complained'],
    ['something-new', 'complained'],
    ['opt-out', 'opted_out'],
    ['not-spam', 'nothing'],
    ['auth-failure', 'nothing'],
  ])('of type %s', (type, consequence) => {
    expect(matchFeedback(complaint(type), delivered, 'message').type).toBe(consequence)
  })

  test('that returns our message may name anybody or nobody', () => {
    for (const addresses of [[], ['redacted@rcpt.example'], ['ann@elsewhere.example']]) {
      expect(matchFeedback(complaint('abuse', addresses), delivered, 'message').type).toBe('complained')
    }
  })

  test('that proves only the envelope must not name somebody else', () => {
    expect(matchFeedback(complaint('abuse', ['ann@rcpt.example']), delivered, 'envelope').type).toBe('complained')
    expect(matchFeedback(complaint('abuse', ['bob@rcpt.example']), delivered, 'envelope')).toEqual({
      type: 'nothing',
      result: 'other_recipient',
    })
  })

  test.each([
    ['a second time', { state: 'complained', complainedAt: 2 }, { type: 'nothing', result: 'duplicate' }],
    ['after a late bounce', { state: 'bounced' }, { type: 'complained' }],
    ['of mail that no server took', { state: 'bounced', deliveredAt: null }, { type: 'nothing', result: 'not_sent' }],
    ['of mail that is being delivered', { state: 'queued', deliveredAt: null, isInHand: true }, { type: 'wait' }],
  ] as const)('%s', (_, recipient, consequence) => {
    expect(matchFeedback(complaint('abuse'), { ...delivered, ...recipient }, 'message')).toMatchObject(consequence)
  })
})

test.each([
  ['a delay', bounce(entry({ action: 'delayed', hard: false })), 'delayed'],
  [
    'a success among the failures of other recipients',
    bounce(entry({ action: 'relayed', hard: false }), entry({ address: 'bob@rcpt.example' })),
    'delivered',
  ],
  ['a success report', feedbackOf({ class: 'delivered', recipients: [entry({ action: 'relayed' })] }), 'delivered'],
  ['an automatic reply', feedbackOf({ class: 'autoreply', recipients: [entry()] }), 'autoreply'],
  ['mail that is no feedback', feedbackOf({ class: 'not-bounce', recipients: [entry()] }), 'no_report'],
  ['a bounce of another recipient', bounce(entry({ address: 'bob@rcpt.example' })), 'other_recipient'],
])('%s changes nothing', (_, feedback, result) => {
  for (const state of ['delivered', 'sent', 'deferred', 'bounced'] as const) {
    expect(matchFeedback(feedback, { ...delivered, state }, 'envelope')).toEqual({ type: 'nothing', result })
  }
})
