import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDsn } from '../../../src/mail/bounce-parser/parse-dsn.ts'
import { ReturnedMessage, type HeaderField, type ReturnedPart } from '../../../src/mail/bounce-parser/returned-message.ts'
import { bounceVocabulary } from '../../../src/mail/bounce-vocabulary.ts'

const message = (parts: ReturnedPart[], headers: HeaderField[] = []) => new ReturnedMessage(headers, parts, bounceVocabulary())
const dsn = (status: string, text = '') =>
  message([
    { contentType: 'text/plain', content: text },
    { contentType: 'message/delivery-status', content: status },
  ])
const only = (fields: string, text = '') =>
  parseDsn(dsn(`Reporting-MTA: dns; mx.relay.example\n\nFinal-Recipient: rfc822; a@b.example\n${fields}\n`, text))?.[0]

describe('the action', () => {
  it.each([
    ['Action: failed', 'failed'],
    ['Action: Failure', 'failed'],
    ['Action: delayed', 'delayed'],
    ['Action: relayed\nStatus: 2.0.0', 'relayed'],
    ['Action: expanded (to a list)', 'expanded'],
    ['Status: 5.1.1', 'failed'],
    ['Status: 4.4.7', 'delayed'],
    ['Status: 2.0.0', 'delivered'],
    ['Diagnostic-Code: smtp; 550 no', 'failed'],
    ['', 'failed'],
    ['Action: unheard-of\nStatus: 4.0.0', 'delayed'],
    ['Action: delivered\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 unknown', 'failed'],
    ['Action: delivered\nStatus: 5.1.1', 'delivered'],
    ['Action: failed\nStatus: 4.4.7', 'failed'],
    ['Action: delayed\nStatus: 5.0.0', 'delayed'],
  ])('%j', (fields, action) => {
    expect(only(fields)?.action).toBe(action)
  })
})

it('a status inside the returned original does not count', () => {
  const status = 'Final-Recipient: rfc822; c@d.example\nAction: failed\nStatus: 5.1.1\n'
  const headers = [
    { name: 'from', value: 'MAILER-DAEMON@mx.b.example' },
    { name: 'subject', value: 'Undelivered mail' },
  ]
  const read = (original: string) => {
    const content = `<a@b.example>: mailbox is full\n\n--- Original message ---\n\n${original}\n\n${status}`
    return parseDsn(message([{ contentType: 'text/plain', content }], headers))
  }
  expect(read('Received: from us\nFrom: news@us.example\nSubject: how to read a bounce')).toBeNull()
  expect(read('Received: from us\nFrom: MAILER-DAEMON@mx.b.example\nSubject: Undelivered mail')).toMatchObject([{ address: 'c@d.example' }])
})

describe('several recipients', () => {
  const hard = (...replies: string[]) => {
    const blocks = replies.map(
      (reply, index) => `Final-Recipient: rfc822; a${index}@b.example\nAction: failed\nDiagnostic-Code: smtp; ${reply}\n`,
    )
    return parseDsn(dsn(`Reporting-MTA: dns; mx.relay.example\n\n${blocks.join('\n')}`))?.map((each) => each.hard)
  }

  it('words alone prove nothing about any of them', () => {
    expect(hard('550 User unknown', '552 Mailbox full')).toEqual([false, false])
  })

  it('a reply that names one of them is not about the others', () => {
    expect(hard('550 5.1.1 <a0@b.example> User unknown', '550 5.1.1 <a0@b.example> User unknown')).toEqual([true, false])
  })
})

describe('hard requires proof', () => {
  const said = (phase: string) => `<a@b.example>: host mx.b.example said: 550 User unknown (in reply to ${phase} command)`
  it.each([
    ['Status: 5.1.1', '', true],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; 550 5.1.1 User unknown', '', true],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; 550 User unknown', '', false],
    [
      'Action: failed\nStatus: 4.0.0\nDiagnostic-Code: smtp; all MXs returned transient failures (last: dial tcp: lookup b.example on 192.0.2.1:53: no such host)',
      '',
      false,
    ],
    [
      'Action: failed\nStatus: 4.0.0\nDiagnostic-Code: smtp; all MXs returned transient failures (last: dial tcp: lookup mx2.b.example on 192.0.2.1:53: no such host)',
      '',
      false,
    ],
    [
      'Action: failed\nStatus: 4.3.0\nDiagnostic-Code: smtp; 451 4.3.0 milter: dial tcp: lookup rspamd on 127.0.0.11:53: no such host',
      '',
      false,
    ],
    [
      'Action: failed\nStatus: 5.0.0\nDiagnostic-Code: x-relay; dial tcp: lookup smarthost.internal on 192.0.2.1:53: no such host',
      '',
      false,
    ],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; 550 <a@b.example>... User unknown', '', false],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; 550 <a@b.example>... Host unknown', '', true],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; 550 User unknown', said('RCPT TO'), true],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; 550 User unknown', said('end of DATA'), false],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; 550 User unknown', said('MAIL FROM'), false],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; 550 User unknown', '>>> RCPT To:<a@b.example>\n<<< 550 User unknown', true],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; 550 User unknown', '>>> DATA\n<<< 550 User unknown', false],
    [
      'Status: 5.0.0\nDiagnostic-Code: smtp; 550 SMTP error from remote mail server after RCPT TO:<a@b.example>: 550 User unknown',
      '',
      true,
    ],
    [
      'Status: 5.1.1\nDiagnostic-Code: smtp; 550 Go away',
      '... while talking to mx.b.example.:\n<<< 550 Go away\n550 5.1.1 <a@b.example>... User unknown',
      false,
    ],
    ['Action: delayed\nStatus: 4.1.1\nDiagnostic-Code: smtp; 450 4.1.1 User unknown', '', false],
    ['Status: 5.2.2\nDiagnostic-Code: smtp; 552 5.2.2 over quota', '', false],
    ['Status: 5.4.7', '', false],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; 550 User unknown', `${said('RCPT TO')}\n\n${said('end of DATA')}`, false],
    [
      'Status: 5.5.0\nDiagnostic-Code: smtp; 550 User unknown',
      '(reason: 550 User unknown)\n\n>>> RCPT To:<a@b.example>\n<<< 550 User unknown',
      true,
    ],
    ['Status: 5.4.1\nDiagnostic-Code: smtp; 550 5.4.1 Recipient address rejected: Access denied. AS(201806281)', '', true],
    [
      'Status: 5.4.1\nDiagnostic-Code: smtp; 550 5.4.1 Recipient address rejected: Access denied. See https://aka.ms/EXOSmtpErrors',
      '',
      false,
    ],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; 550 Domain not found', '', false],
    ['Status: 5.1.2\nDiagnostic-Code: smtp; 550 Host unknown', '', true],
    ['Status: 5.1.2\nDiagnostic-Code: smtp; 550 <a@b.example>: unknown domain b.example', '', true],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; 550 <a@b.example>: unknown domain us.example', '', false],
    ['Status: 5.1.2\nDiagnostic-Code: smtp; 550 unknown host mx.b.example', '', true],
    ['Status: 5.4.310\nDiagnostic-Code: smtp; 550 5.4.310 DNS domain b.example does not exist', '', true],
    ['Status: 5.0.0\nDiagnostic-Code: X-Postfix; Host or domain name not found', '', true],
    ['Status: 5.0.0\nDiagnostic-Code: unknown; Unknown user.', '', true],
    ['Status: 5.1.2 (550 Tried all MXs b.example)', '', false],
    ['Status: 5.1.2 (550 Domain not found)', '', true],
    ['Status: 5.0.0\nDiagnostic-Code: X-Notes; User a (a@b.example) not listed in Domino Directory', '', true],
    ['Status: 5.0.0\nDiagnostic-Code: X-Notes; 550 User a not listed in Domino Directory', '', false],
    ['Status: 5.0.0\nDiagnostic-Code: smtp; User a not listed in Domino Directory', '', false],
    ['Status: 5.1.0\nDiagnostic-Code: smtp; 550 5.1.0 Address rejected - User does not exist.', '', true],
    ["Status: 5.0.0\nDiagnostic-Code: smtp; 5.1.0 - Unknown address error 550-'No such user here' (delivery attempts: 0)", '', true],
    ["Status: 5.0.0\nDiagnostic-Code: smtp; 5.1.0 - Unknown address error 550-'Message refused' (delivery attempts: 0)", '', false],
    ['Status: 5.1.0\nDiagnostic-Code: smtp; 550 5.1.0 Sender rejected', '', false],
    [
      'Status: 5.1.351\nDiagnostic-Code: smtp; 550 5.1.351 Remote server returned unknown recipient or mailbox unavailable -> 554 5.7.1 policy',
      '',
      false,
    ],
    [
      'Status: 5.1.351\nDiagnostic-Code: smtp; 550 5.1.351 Remote server returned unknown recipient or mailbox unavailable -> 550 5.1.1 User unknown',
      '',
      true,
    ],
    ['Status: 5.5.0\nDiagnostic-Code: smtp; 550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).', '', false],
  ])('%j %j', (fields, text, hard) => {
    expect(only(fields, text)?.hard).toBe(hard)
  })
})

it('the final recipient counts, and one without a domain only if there is nothing better', () => {
  expect(only('Original-Recipient: rfc822; o@b.example\nX-Actual-Recipient: rfc822; x@b.example')?.address).toBe('a@b.example')
  const status = (fields: string) => parseDsn(dsn(`${fields}\nAction: failed\nStatus: 5.1.1`))?.[0]?.address
  expect(status('Original-Recipient: rfc822; o@b.example\nFinal-Recipient: local; root')).toBe('o@b.example')
  expect(status('Final-Recipient: local; root')).toBe('root')
  expect(status('Original-Recipient: rfc822; o@b.example')).toBe('o@b.example')
  expect(status('Final-Recipient: rfc822;\nReporting-MTA: dns; b.example')).toBe(null)
})

it('an address that occurs twice is one recipient, and a failure wins', () => {
  const blocks = ['delayed', 'failed', 'delivered'].map((action) => `Final-Recipient: rfc822; a@b.example\nAction: ${action}\n`)
  expect(parseDsn(dsn(blocks.join('\n')))).toEqual([expect.objectContaining({ address: 'a@b.example', action: 'failed' })])
})

it('a message without a status has none', () => {
  expect(parseDsn(message([{ contentType: 'text/plain', content: 'Action: failed\nStatus: 5.1.1' }]))).toBe(null)
})

const word = fc.stringMatching(/^[A-Za-z0-9]{1,12}$/)
const address = fc.tuple(word, word).map(([local, host]) => `${local}@${host}.example`.toLowerCase())
const folded = fc.array(word, { minLength: 1, maxLength: 8 })

it('parses what was composed, in any order and folding, with or without empty lines', () => {
  const recipient = fc.record({
    address,
    action: fc.constantFrom('failed', 'delayed', 'delivered', 'relayed', 'expanded'),
    detail: fc.tuple(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 99 })),
    words: folded,
    isReversed: fc.boolean(),
  })
  const recipients = fc.uniqueArray(recipient, { minLength: 1, maxLength: 8, selector: (each) => each.address })
  fc.assert(
    fc.property(recipients, fc.constantFrom('\n', '\n \n\n'), fc.constantFrom('\n  ', '\n\t'), (all, between, fold) => {
      const expected = all.map((each) => {
        const digit = { failed: 5, delayed: 4, delivered: 2, relayed: 2, expanded: 2 }[each.action]
        const status = `${digit}.${each.detail[0]}.${each.detail[1]}`
        return { ...each, status, code: digit * 100 + 50, reason: `${digit * 100 + 50} ${each.words.join(' ')}` }
      })
      const blocks = expected.map(({ address, action, status, code, words, isReversed }) => {
        const fields = [
          `Final-Recipient: rfc822; ${address}\n`,
          `Action: ${action}\n`,
          `Status: ${status}\n`,
          `Diagnostic-Code: smtp; ${code} ${words.join(fold)}\n`,
        ]
        return (isReversed ? fields.reverse() : fields).join('')
      })
      const read = parseDsn(dsn(`Reporting-MTA: dns; mx.relay.example\n${between}${blocks.join(between)}`))
      expect(read?.map(({ address, action, status, smtpCode, reason }) => ({ address, action, status, smtpCode, reason }))).toEqual(
        expected.map(({ address, action, status, code, reason }) => ({ address, action, status, smtpCode: code, reason })),
      )
    }),
  )
})

it('parses any text as a status without crashing', () => {
  const line = fc.oneof(
    fc.string({ maxLength: 60 }),
    fc.constantFrom(
      'Final-Recipient: rfc822; a@b',
      'Original-Recipient:',
      'Action: failed',
      'Status: 5',
      'Diagnostic-Code: x;',
      '',
      ' ',
      '--x',
    ),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 40 }), (lines) => {
      for (const recipient of parseDsn(dsn(lines.join('\n'))) ?? []) expect(recipient.reason.length).toBeLessThanOrEqual(1000)
    }),
  )
})

it('parses in linear time, even a field of spaces without a line end', () => {
  expect(only(`Action: failed\nDiagnostic-Code:${' '.repeat(1_000_000)}\r`)?.action).toBe('failed')
})
