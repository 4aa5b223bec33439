import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseMailCommand, parseRcptCommand } from '../../../src/mail-in/smtp-server/envelope-command.ts'
import { anyCharacter } from '../../support/any-character.ts'

const now = Date.UTC(2026, 10, 21, 8)
const submitted = { isSecure: true, submittedAt: now }
const mailOf = (line: string, { isSecure, submittedAt }: { isSecure: boolean; submittedAt: number | null } = submitted) =>
  parseMailCommand(Buffer.from(line), isSecure, submittedAt)
const plain = { reversePath: 'me@example.com', size: null, smtputf8: false, ret: null, envid: null, asked: null }
const rcptOf = (line: string, smtputf8 = false) => parseRcptCommand(Buffer.from(line), { ...plain, smtputf8 })
const rcpt = { forwardPath: 'you@example.net', notify: null, orcpt: null }

test.each([
  ['MAIL FROM:<me@example.com>', plain],
  ['mail from: <me@EXAMPLE.com> ', plain],
  ['MAIL FROM:<>', { ...plain, reversePath: null }],
  ['MAIL FROM:<> RET=hdrs ENVID=a+2Bb', { ...plain, reversePath: null, ret: 'hdrs', envid: 'a+2Bb' }],
  ['MAIL FROM:<me@example.com> SIZE=1000 BODY=8BITMIME SMTPUTF8 AUTH=<>', { ...plain, size: 1000, smtputf8: true }],
  ['MAIL FROM:<mé@bücher.example> SMTPUTF8', { ...plain, reversePath: 'mé@xn--bcher-kva.example', smtputf8: true }],
  ['MAIL FROM:<"a>b"@example.com>', { enhancedStatus: '5.1.7' }],
  ['MAIL FROM:<mé@example.com>', { enhancedStatus: '5.6.7' }],
  ['MAIL FROM:<me@bücher.example>', { enhancedStatus: '5.6.7' }],
  ['MAIL FROM:me@example.com', plain],
  ['MAIL FROM: me@example.com', plain],
  ['MAIL FROM: me@example.com SIZE=1000', { ...plain, size: 1000 }],
  ['MAIL FROM :\t<me@example.com>', plain],
  ['MAIL FROM:me@example.com>', { code: 501 }],
  ['MAIL FROM:<me@example.com', { code: 501 }],
  ['MAIL FROM:me@example.com,you@example.com', { code: 553 }],
  ['MAIL FROM:me@example.com you@example.com', { code: 501 }],
  ['MAIL FROM:Me <me@example.com>', { code: 501 }],
  ['MAIL FROM:<@relay.example:me@example.com>', { code: 553 }],
  ['MAIL FROM:<me@[192.0.2.1]>', { code: 553 }],
  ['MAIL FROM:<me@example.com> SIZE=x', plain],
  ['MAIL FROM:<me@example.com> SIZE=-1', plain],
  ['MAIL FROM:<me@example.com> SIZE=', plain],
  ['MAIL FROM:<me@example.com> SIZE', plain],
  ['MAIL FROM:<me@example.com> SIZE=00000000000000000000001000', { ...plain, size: 1000 }],
  ['MAIL FROM:<me@example.com> BODY=BINARYMIME', plain],
  ['MAIL FROM:<me@example.com> BODY=8bit', plain],
  ['MAIL FROM:<me@example.com> SMTPUTF8=1', { ...plain, smtputf8: true }],
  ['MAIL FROM:<me@example.com> RET=ALL', plain],
  ['MAIL FROM:<me@example.com> RET=FULL RET=FULL', { ...plain, ret: 'full' }],
  [
    'MAIL FROM:<me@example.com> ENVID=X400-MTS-Identifier:+20[/PRMD+3dFirst+20Org/C+3DGB/;DC01-98]',
    { ...plain, envid: 'X400-MTS-Identifier:+20[/PRMD+3DFirst+20Org/C+3DGB/;DC01-98]' },
  ],
  ['MAIL FROM:<me@example.com> ENVID=a+b=+zz', { ...plain, envid: 'a+2Bb+3D+2Bzz' }],
  ['MAIL FROM:<me@example.com> ENVID=a+0D+0Ab', plain],
  ['MAIL FROM:<me@example.com> ENVID=é', plain],
  [`MAIL FROM:<me@example.com> ENVID=${'a'.repeat(101)}`, plain],
  ['MAIL FROM:<me@example.com>SIZE=1', { ...plain, size: 1 }],
  ['MAIL FROM:<me@example.com>,<you@example.com>', { code: 501 }],
  ['MAIL FROM:<me@example.com> <you@example.com>', { code: 501 }],
  ['MAIL FROM:<me@example.com> X-PLAIN=1', { code: 555, enhancedStatus: '5.5.4' }],
  ['MAIL FROM:', { code: 501 }],
  ['MAIL <me@example.com>', { code: 501 }],
])('%s', (line, expected) => {
  expect(mailOf(line)).toMatchObject(expected)
})

const asked = { scheduledAt: null, expiresIn: null, transfer: null }
const inSeconds = (seconds: number): number => now + seconds * 1000

test.each([
  ['REQUIRETLS', { ...asked, transfer: { requireTls: true } }],
  ['HOLDFOR=600', { ...asked, scheduledAt: inSeconds(600) }],
  ['HOLDFOR=2592000', { ...asked, scheduledAt: inSeconds(2_592_000) }],
  ['HOLDUNTIL=2026-11-21T09:00:00Z', { ...asked, scheduledAt: inSeconds(3600) }],
  ['HOLDUNTIL=2026-11-21t10:00:00.5+01:00', { ...asked, scheduledAt: inSeconds(3600.5) }],
  ['HOLDUNTIL=2026-11-21T07:59:59Z', null],
  ['BY=60;R', { ...asked, expiresIn: 60, transfer: { deliverBy: { at: inSeconds(60), mode: 'R' } } }],
  ['BY=+120;rT', { ...asked, expiresIn: 120, transfer: { deliverBy: { at: inSeconds(120), mode: 'R' } } }],
  ['BY=999999999;R', { ...asked, expiresIn: 432_000, transfer: { deliverBy: { at: inSeconds(999_999_999), mode: 'R' } } }],
  ['BY=30;N', { ...asked, transfer: { deliverBy: { at: inSeconds(30), mode: 'N' } } }],
  ['BY=-30;n', { ...asked, transfer: { deliverBy: { at: inSeconds(-30), mode: 'N' } } }],
  ['MT-PRIORITY=9', { ...asked, transfer: { priority: 9 } }],
  ['mt-priority=-9', { ...asked, transfer: { priority: -9 } }],
  ['MT-PRIORITY=0', { ...asked, transfer: { priority: 0 } }],
  [
    'HOLDFOR=600 BY=900;R REQUIRETLS MT-PRIORITY=3',
    {
      scheduledAt: inSeconds(600),
      expiresIn: 300,
      transfer: { requireTls: true, deliverBy: { at: inSeconds(900), mode: 'R' }, priority: 3 },
    },
  ],
  ['HOLDFOR=900 BY=600;N', { ...asked, scheduledAt: inSeconds(900), transfer: { deliverBy: { at: inSeconds(600), mode: 'N' } } }],
])('a submitter asks: %s', (parameters, expected) => {
  expect(mailOf(`MAIL FROM:<me@example.com> SIZE=10 ${parameters}`)).toEqual({ ...plain, size: 10, asked: expected })
})

test.each([
  ['REQUIRETLS=yes', 501],
  ['REQUIRETLS REQUIRETLS', 501],
  ['HOLDFOR', 501],
  ['HOLDFOR=0', 501],
  ['HOLDFOR=-5', 501],
  ['HOLDFOR=1.5', 501],
  ['HOLDFOR=1234567890', 501],
  ['HOLDFOR=2592001', 501],
  ['HOLDFOR=60 HOLDFOR=60', 501],
  ['HOLDFOR=60 HOLDUNTIL=2026-11-21T09:00:00Z', 501],
  ['HOLDUNTIL=', 501],
  ['HOLDUNTIL=tomorrow', 501],
  ['HOLDUNTIL=2026-11-21T09:00:00', 501],
  ['HOLDUNTIL=2026-12-22T08:00:00Z', 501],
  ['BY=60', 501],
  ['BY=60;X', 501],
  ['BY=;R', 501],
  ['BY=1234567890;N', 501],
  ['BY=0;R', 501],
  ['BY=-1;R', 501],
  ['BY=59;R', 555],
  ['BY=60;R BY=60;R', 501],
  ['HOLDFOR=600 BY=600;R', 501],
  ['HOLDFOR=600 BY=659;R', 501],
  ['MT-PRIORITY', 501],
  ['MT-PRIORITY=10', 501],
  ['MT-PRIORITY=-0', 501],
  ['MT-PRIORITY=+1', 501],
  ['MT-PRIORITY=high', 501],
  ['MT-PRIORITY=1 MT-PRIORITY=2', 501],
])('what cannot be met is refused: %s', (parameters, code) => {
  expect(mailOf(`MAIL FROM:<me@example.com> ${parameters}`)).toMatchObject({ code, enhancedStatus: '5.5.4' })
})

test.each(['HOLDFOR=60', 'HOLDUNTIL=2026-11-21T09:00:00Z', 'BY=60;R', 'MT-PRIORITY=1'])('only submitters are offered %s', (parameter) => {
  const line = `MAIL FROM:<me@example.com> ${parameter}`
  expect(mailOf(line, { isSecure: true, submittedAt: null })).toMatchObject({ code: 555, enhancedStatus: '5.5.4' })
})

test('REQUIRETLS is offered over TLS alone', () => {
  const line = 'MAIL FROM:<me@example.com> REQUIRETLS'
  expect(mailOf(line, { isSecure: false, submittedAt: now })).toMatchObject({ code: 555 })
  expect(mailOf(line, { isSecure: true, submittedAt: null })).toMatchObject({ asked: { transfer: { requireTls: true } } })
})

test.each([
  ['RCPT TO:<you@example.net>', rcpt],
  [
    'RCPT TO:<you@example.net> NOTIFY=success,DELAY ORCPT=rfc822;you+2Bx@example.net',
    { ...rcpt, notify: 'SUCCESS,DELAY', orcpt: 'rfc822;you+2Bx@example.net' },
  ],
  ['RCPT TO:<you@example.net> NOTIFY=NEVER', { ...rcpt, notify: 'NEVER' }],
  ['RCPT TO:<"odd,one"@example.net>', { ...rcpt, forwardPath: '"odd,one"@example.net' }],
  ['RCPT TO:<>', { code: 553, enhancedStatus: '5.1.3' }],
  ['RCPT TO:<postmaster>', { code: 553 }],
  ['RCPT TO:you@example.net', rcpt],
  ['RCPT TO: you@example.net NOTIFY=NEVER', { ...rcpt, notify: 'NEVER' }],
  ['RCPT TO:<you@example.net> NOTIFY=NEVER,FAILURE', { ...rcpt, notify: 'FAILURE' }],
  ['RCPT TO:<you@example.net> NOTIFY=SUCCESS,,ALWAYS,SUCCESS', { ...rcpt, notify: 'SUCCESS' }],
  ['RCPT TO:<you@example.net> NOTIFY=ALWAYS', rcpt],
  ['RCPT TO:<you@example.net> NOTIFY', rcpt],
  ['RCPT TO:<you@example.net> ORCPT=you@example.net', rcpt],
  ['RCPT TO:<you@example.net> ORCPT=rfc822;a+0Ab', rcpt],
  ['RCPT TO:<you@example.net> ORCPT=rfc822;a+b=c@example.net', { ...rcpt, orcpt: 'rfc822;a+2Bb+3Dc@example.net' }],
  ['RCPT TO:<you@example.net> ORCPT=RFC822;a+3db@example.net', { ...rcpt, orcpt: 'RFC822;a+3Db@example.net' }],
  ['RCPT TO:<you@example.net>,<me@example.net>', { code: 501 }],
  ['RCPT TO:you@example.net,me@example.net', { code: 553 }],
  ['RCPT TO:<you@example.net> SIZE=1', { code: 555 }],
  // An address that carries parameters of its own to a program that takes no notice of quotation marks.
  ['RCPT TO:<"foo@psres.net> ORCPT=admin@admin.com"@test.com>', { code: 553 }],
  ['RCPT TO:<a@x.example> <b@y.example>', { code: 501 }],
])('%s', (line, expected) => {
  expect(rcptOf(line)).toMatchObject(expected)
})

// Forms by which relays have been talked into sending where they should not: none may change the address that is read.
test.each([
  ['<user%external.example@example.net>', 'user%external.example@example.net'],
  ['<external.example!user@example.net>', 'external.example!user@example.net'],
  ['<"user@external.example"@example.net>', null],
  ['<@example.net:user@external.example>', null],
  ['<user@external.example@example.net>', null],
  ['<user@example.net(@external.example)>', null],
  ['<user@example.net.>', null],
  ['<user\0@example.net>', null],
  ['<user@example.net\x0b>', null],
  ['<=?utf-8?q?user?=@example.net>', null],
])('RCPT TO:%j', (path, forwardPath) => {
  const parsed = rcptOf(`RCPT TO:${path}`)
  expect('forwardPath' in parsed ? parsed.forwardPath : null).toBe(forwardPath)
})

test('international addresses need SMTPUTF8, and bytes that are no UTF-8 are refused', () => {
  expect(rcptOf('RCPT TO:<yöu@example.net>')).toMatchObject({ enhancedStatus: '5.6.7' })
  expect(rcptOf('RCPT TO:<yöu@example.net> ORCPT=utf-8;yöu@example.net', true)).toMatchObject({ forwardPath: 'yöu@example.net' })
  expect(parseRcptCommand(Buffer.from('RCPT TO:<y\xf6u@example.net>', 'latin1'), { ...plain, smtputf8: true })).toMatchObject({ code: 501 })
})

test('any bytes get an answer, and what is taken has no control character', () => {
  const anything = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc.string({ unit: anyCharacter, maxLength: 60 }).map((text) => Buffer.from(text)),
  )
  fc.assert(
    fc.property(anything, (bytes) => {
      const parsed = parseMailCommand(Buffer.concat([Buffer.from('MAIL FROM:<a@b.example> ENVID='), bytes]), true, now)
      if ('code' in parsed) return parsed.code >= 500
      return /^[\x21-\x3c\x3e-\x7e]*$/.test(parsed.envid ?? '')
    }),
  )
})
