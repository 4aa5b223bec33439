import { describe, expect, it } from 'vitest'
import type { Outcome } from '../../../src/mail-out/delivery/attempt.ts'
import { bounce, deferral, outcomeOfHosts, hostOutcomeOf, type Phase } from '../../../src/mail-out/delivery/outcome.ts'
import { enhancedStatusOf } from '../../../src/platform/smtp/reply.ts'

const replyOf = (line: string) => {
  const code = Number(line.slice(0, 3))
  const text = line.slice(4)
  return { code, enhancedStatus: enhancedStatusOf(code, text), text }
}

/** `bounced hard invalid_recipient`, with `next` where another host is tried, `elsewhere` where one of another owner is. */
const told = (phase: Phase, line: string): string => {
  const { outcome, nextHost } = hostOutcomeOf(phase, replyOf(line))
  const words = outcome.type === 'bounced' ? ['bounced', outcome.hard ? 'hard' : 'soft', outcome.category] : [outcome.type]
  if (outcome.type === 'deferred') words.push(outcome.category)
  return [...words, ...(nextHost ? [nextHost === true ? 'next' : 'elsewhere'] : [])].join(' ')
}

describe('a reply that means something at one provider alone', () => {
  const line = '550 Requested action not taken: mailbox unavailable'

  it.each<[string | null, boolean]>([
    ['outlook.com', true],
    ['mx1.outlook.com', true],
    ['hotmail-com.olc.protection.outlook.com', true],
    ['notoutlook.com', false],
    ['mx.notoutlook.com', false],
    ['outlook.com.example', false],
    ['com', false],
    [null, false],
  ])('of %s: hard is %s', (host, hard) => {
    expect(hostOutcomeOf('rcpt', replyOf(line), host).outcome).toMatchObject({ type: 'bounced', hard })
  })
})

describe('one reply', () => {
  it.each<[Phase, string, string]>([
    ['dot', '250 2.0.0 Ok', 'delivered'],
    ['dot', '251 taken', 'delivered'],

    // The host refuses us: another may not.
    ['banner', '554 5.7.1 blocked using zen.spamhaus.org', 'deferred reputation elsewhere'],
    ['banner', '554 no service', 'deferred reputation elsewhere'],
    ['banner', '521 5.7.1 your address is blocked', 'deferred policy elsewhere'],
    ['banner', '521 host takes no mail', 'bounced hard invalid_recipient next'],
    ['banner', '421 4.3.2 too busy', 'deferred other next'],
    ['ehlo', '550 5.7.1 bad HELO', 'deferred policy next'],
    ['ehlo', '504 5.5.2 need a name', 'deferred policy next'],
    ['ehlo', '521 host takes no mail', 'bounced hard invalid_recipient next'],
    ['starttls', '454 4.7.0 TLS not available', 'deferred policy next'],

    // Before RCPT it is about us, whatever the code.
    ['mail', '550 5.7.1 sender blocked', 'bounced soft policy'],
    ['mail', '550 5.1.1 unknown', 'bounced soft policy'],
    ['mail', '553 5.1.8 sender domain does not exist', 'bounced soft policy'],
    ['mail', '552 5.3.4 message too big', 'bounced soft content_rejected'],
    ['mail', '452 4.3.1 out of space', 'deferred mailbox_full next'],
    ['mail', '451 4.7.1 greylisted', 'deferred policy next'],

    // The address does not exist, has moved, or takes no mail.
    ['rcpt', '550 5.1.1 no', 'bounced hard invalid_recipient'],
    ['rcpt', '550 5.1.2 no', 'bounced hard domain_not_found'],
    ['rcpt', '501 5.1.3 no', 'bounced hard invalid_recipient'],
    ['rcpt', '551 5.1.6 no', 'bounced hard invalid_recipient'],
    ['rcpt', '550 5.1.10 no', 'bounced hard invalid_recipient'],
    ['rcpt', '556 5.1.10 null MX', 'bounced hard invalid_recipient'],
    ['rcpt', '521 5.3.2 no mail here', 'bounced hard invalid_recipient'],
    ['rcpt', '521 5.7.1 your address is blocked', 'bounced soft policy'],
    ['rcpt', '550 No such user here', 'bounced hard invalid_recipient'],
    ['rcpt', '550 5.0.0 User unknown', 'bounced hard invalid_recipient'],
    ['rcpt', '550 5.1.0 Address does not exist', 'bounced hard invalid_recipient'],
    ['rcpt', '550 <a@b.test>: Recipient address rejected: User unknown in local recipient table', 'bounced hard invalid_recipient'],
    ['rcpt', '550 5.4.1 Recipient address rejected: Access denied.', 'bounced hard invalid_recipient'],
    ['rcpt', '551 User not local; please try <c@d.test>', 'bounced hard invalid_recipient'],
    ['dot', "554 delivery error: dd This user doesn't have a yahoo.com account (a@yahoo.com)", 'bounced hard invalid_recipient'],
    ['dot', '550 5.1.1 late unknown user', 'bounced hard invalid_recipient'],

    // Every other 5yz is soft.
    ['rcpt', '550 5.1.4 ambiguous', 'bounced soft invalid_recipient'],
    ['rcpt', '550 5.2.1 mailbox disabled', 'bounced soft invalid_recipient'],
    // RFC 5321 4.5.3.1.10: 552 to RCPT means 452.
    ['rcpt', '552 5.2.2 over quota', 'deferred mailbox_full'],
    ['rcpt', '552 mailbox full', 'deferred mailbox_full'],
    ['rcpt', '552 5.1.1 no such user', 'bounced hard invalid_recipient'],
    ['rcpt', '550 5.7.1 relaying denied', 'bounced soft policy'],
    ['rcpt', '550 Unable to relay for unknown user', 'bounced soft policy'],
    ['rcpt', '550 Sender address rejected: Domain not found', 'bounced soft policy'],
    ['rcpt', '550 Requested action not taken: mailbox unavailable', 'bounced soft invalid_recipient'],
    ['rcpt', '550 5.7.1 Service unavailable; client host [192.0.2.1] blocked using Spamhaus', 'bounced soft reputation'],
    ['rcpt', '554 go away', 'bounced soft policy'],
    ['data', '554 5.5.1 no valid recipients', 'bounced soft policy'],
    ['dot', '554 5.7.1 spam', 'bounced soft policy'],
    ['dot', '554 message looks like spam', 'bounced soft content_rejected'],
    ['dot', '552 too large', 'bounced soft content_rejected'],
    ['dot', '550 5.6.0 bad MIME', 'bounced soft content_rejected'],

    // 4yz is deferred; 421 is about the host.
    ['rcpt', '450 4.2.0 greylisted', 'deferred policy'],
    ['rcpt', '450 4.1.1 unknown for now', 'deferred invalid_recipient'],
    ['rcpt', '452 4.2.2 full', 'deferred mailbox_full'],
    ['rcpt', '421 4.7.0 slow down', 'deferred policy next'],
    ['data', '421 closing', 'deferred other next'],
    ['data', '451 4.3.0 error', 'deferred other'],
    ['dot', '421 closing', 'deferred other'],
    ['dot', '451 4.7.1 try later', 'deferred policy'],

    // The command, or its place, is wrong: not the mail.
    ['mail', '503 5.5.1 Sender already specified', 'deferred other next'],
    ['mail', '500 5.5.1 Unrecognised command', 'deferred other next'],
    ['rcpt', '500 what', 'deferred other next'],
    ['rcpt', '503 bad sequence of commands', 'deferred other next'],
    ['data', '502 not implemented', 'deferred other next'],
    // What it names is wrong, or the enhanced status or the words say more.
    ['mail', '501 5.1.7 bad sender address syntax', 'bounced soft policy'],
    ['rcpt', '501 5.5.4 Invalid address', 'bounced soft other'],
    ['rcpt', '504 need fully-qualified address', 'bounced soft other'],
    ['rcpt', '503 5.7.1 not here', 'bounced soft policy'],
    ['rcpt', '503 User unknown', 'bounced hard invalid_recipient'],
    // Of the whole message every 5yz is a refusal.
    ['dot', '503 5.5.1 bad sequence of commands', 'bounced soft other'],

    // What does not belong there is not understood.
    ['rcpt', '600 what', 'deferred other'],
    ['banner', '354 what', 'deferred other next'],
    ['mail', '354 what', 'deferred other next'],
    ['rcpt', '354 what', 'deferred other'],
    ['data', '250 what', 'deferred other'],
    ['dot', '354 what', 'deferred other'],
  ])('at %s: %s', (phase, line, expected) => expect(told(phase, line)).toBe(expected))

  it('gives the reply and a reason to show', () => {
    const reply = { code: 550, enhancedStatus: '5.1.1', text: '5.1.1 a\n5.1.1 b' }
    expect(hostOutcomeOf('rcpt', reply).outcome).toEqual({
      type: 'bounced',
      hard: true,
      category: 'invalid_recipient',
      reply,
      reason: '550 5.1.1 a 5.1.1 b',
      phase: 'rcpt',
    })
  })

  it('bounces only what the server refused for good, at every phase and for every code', () => {
    for (const phase of ['banner', 'ehlo', 'starttls', 'mail', 'rcpt', 'data', 'dot'] as const) {
      for (let code = 200; code < 600; code++) {
        const { outcome } = hostOutcomeOf(phase, { code, enhancedStatus: null, text: '' })
        const isBeforeMail = phase === 'banner' || phase === 'ehlo' || phase === 'starttls'
        const isAboutCommand = code === 500 || code === 502 || code === 503
        const isAboutMail = isBeforeMail ? code === 521 || code === 556 : phase === 'dot' || !isAboutCommand
        const isForGood = code >= 500 && isAboutMail && !(phase === 'rcpt' && code === 552)
        const expected = isForGood ? 'bounced' : phase === 'dot' && code < 300 ? 'delivered' : 'deferred'
        expect(outcome.type, `${phase} ${code}`).toBe(expected)
      }
    }
  })
})

describe('several hosts', () => {
  const later = deferral('timeout', 'no answer').outcome
  const soft = bounce('blocked', 'policy')
  const hard = bounce('takes no mail', 'invalid_recipient', 'hard')

  it.each<[string, Outcome[], Outcome]>([
    ['one that may answer later keeps the message', [hard, later, soft], later],
    ['all refuse', [hard, soft], soft],
    ['all take no mail', [hard, hard], hard],
  ])('%s', (_, outcomes, expected) => expect(outcomeOfHosts(outcomes)).toBe(expected))

  it('none tried is a deferral', () => expect(outcomeOfHosts([]).type).toBe('deferred'))
})
