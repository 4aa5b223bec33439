import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { classifyRefusal } from '../../../src/mail/bounce-vocabulary.ts'
import type { BounceCategory, RefusalPhase } from '../../../src/mail/bounce-parser/refusal.ts'
import { enhancedStatusOf } from '../../../src/platform/smtp/reply.ts'
import { anyCharacter } from '../../support/any-character.ts'

const replies = readFileSync(new URL('../../fixtures/refusals/replies.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split('|') as [hardness: string, phase: RefusalPhase, reply: string, remoteHost?: string])

/** A code at the beginning, or as qmail has it: `(#5.1.1)`. */
function judge(phase: RefusalPhase, reply: string, remoteHost: string | null = null) {
  const code = /^[245]\d\d(?=[ -])/.test(reply) ? Number(reply.slice(0, 3)) : null
  const text = code === null ? reply : reply.slice(4)
  const enhancedStatus =
    (code === null ? null : enhancedStatusOf(code, text)) ?? /(?:^|#)([245]\.\d{1,3}\.\d{1,3})\b/.exec(text)?.[1] ?? null
  return classifyRefusal({ code, enhancedStatus, text, phase, remoteHost })
}

describe('replies of mail systems', () => {
  it.each(replies)('%s at %s: %s', (hardness, phase, reply, remoteHost) => {
    expect(judge(phase, reply, remoteHost ?? null).hard ? 'hard' : 'soft').toBe(hardness)
  })
})

describe('what a refusal is about', () => {
  it.each<[BounceCategory, RefusalPhase, string]>([
    ['invalid_recipient', 'rcpt', '550 5.1.1 no'],
    ['domain_not_found', 'report', '5.4.4 Host or domain name not found. Name service error for name=a.test type=A: Host not found'],
    ['mailbox_full', 'rcpt', '550 5.1.1 The mailbox is full'],
    ['mailbox_full', 'rcpt', '452 4.2.2 over quota'],
    ['reputation', 'rcpt', '550 5.1.1 rejected: listed at bl.spamcop.net'],
    ['mailbox_full', 'report', 'Skrzynka odbiorcy jest przepełniona'],
    ['policy', 'rcpt', '550 The recipient has exceeded the number of messages they can receive per hour'],
    ['policy', 'rcpt', '550 5.1.1 Relaying denied'],
    ['policy', 'rcpt', '450 4.7.1 Greylisted'],
    ['policy', 'rcpt', '550 5.1.8 Sender address rejected: Domain not found'],
    ['policy', 'dot', '550 5.7.26 Unauthenticated'],
    ['content_rejected', 'dot', '554 Message looks like spam'],
    ['content_rejected', 'dot', '552 5.3.4 too big'],
    ['expired', 'report', '4.4.7 Delivery time expired'],
    ['expired', 'report', 'CNAME lookup failed temporarily. (#4.4.3) This message has been in the queue too long.'],
    ['timeout', 'report', '4.4.1 connect to mx.test: Connection timed out'],
    ['other', 'report', 'we are sorry'],
  ])('%s at %s: %s', (category, phase, reply) => expect(judge(phase, reply).category).toBe(category))
})

const phases: RefusalPhase[] = ['banner', 'ehlo', 'starttls', 'mail', 'rcpt', 'data', 'dot', 'report']
const words = fc.constantFrom(
  'user',
  'unknown',
  'mailbox',
  'does not exist',
  'blocked',
  '5.1.1',
  'domain',
  'not found',
  '邮箱',
  'a@b.test',
  '.',
  'full',
  'not',
)

test('classifies any text, and before RCPT nothing as hard unless the host accepts no mail at all', () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 3000 }),
    fc.array(words, { maxLength: 200 }).map((some) => some.join(' ')),
  )
  fc.assert(
    fc.property(fc.constantFrom(...phases), fc.integer({ min: 200, max: 599 }), text, (phase, code, said) => {
      const { hard } = classifyRefusal({ code, enhancedStatus: enhancedStatusOf(code, said), text: said, remoteHost: null, phase })
      if (phases.indexOf(phase) < phases.indexOf('rcpt') && code !== 521 && code !== 556) expect(hard).toBe(false)
    }),
  )
})
