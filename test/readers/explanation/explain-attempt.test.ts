import { expect, test } from 'vitest'
import { causeCodes, causes } from '../../../src/readers/explanation/causes.ts'
import { explainAttempt } from '../../../src/readers/explanation/explain-attempt.ts'

const replied = (code: number, enhancedStatus: string | null, text: string) => ({
  outcome: code < 500 ? ('deferred' as const) : ('bounced' as const),
  smtpCode: code,
  enhancedStatus,
  reply: `${code} ${enhancedStatus ?? ''} ${text}`,
  provider: null,
  phase: null,
})

const ptr =
  'The IP address sending this message does not have a PTR record setup, or the corresponding forward DNS entry does not point to the sending IP.'

test.each([
  [451, '4.7.1', 'Greylisting in action, please come back later', 'greylisting', 'network'],
  [450, null, 'Graylisted, try again in 300 seconds', 'greylisting', 'network'],
  [550, '5.7.25', ptr, 'reverse_dns', 'us'],
  [550, '5.7.1', ptr, 'reverse_dns', 'us'],
  [450, '4.7.25', 'Client host rejected: cannot find your hostname, [192.0.2.1]', 'reverse_dns', 'us'],
  [550, '5.7.1', 'Sender IP reverse lookup rejected', 'reverse_dns', 'us'],
  [550, null, 'we do not accept mail from hosts with dynamic ip or generic dns ptr-records', 'reverse_dns', 'us'],
  [504, '5.5.2', '<host>: Helo command rejected: need fully-qualified hostname', 'host_name', 'us'],
  [550, '5.7.1', '<host>: Helo command rejected: Host not found', 'host_name', 'us'],
  [550, null, 'invalid HELO domain name', 'host_name', 'us'],
  [421, '4.7.28', 'Our system has detected an unusual rate of mail', 'sending_rate', 'us'],
  [452, '4.3.1', 'Too many recipients received this hour', 'sending_rate', 'us'],
  [452, '4.3.1', 'The system is busy', 'busy', 'network'],
  [550, '5.7.26', 'This mail has been blocked because the sender is unauthenticated', 'authentication', 'sender'],
  [550, '5.7.1', 'Rejected by DMARC policy of the domain', 'authentication', 'sender'],
  [554, '5.7.1', 'Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org', 'reputation', 'us'],
  [554, '5.7.1', 'Service unavailable; Sender address [a@b.example] blocked using dbl.spamhaus.org', 'domain_reputation', 'sender'],
  [550, '5.7.1', 'Message content rejected as spam', 'content_rejected', 'content'],
  [552, '5.2.2', 'The email account that you tried to reach is over quota', 'mailbox_full', 'recipient'],
  [452, '4.2.2', 'Mailbox full', 'mailbox_full', 'recipient'],
  [550, '5.1.1', 'The email account that you tried to reach does not exist', 'invalid_recipient', 'recipient'],
  [550, null, 'No such user here', 'invalid_recipient', 'recipient'],
  [550, null, 'Empfänger unbekannt', 'invalid_recipient', 'recipient'],
  [550, '5.1.1', 'Relaying denied', 'relay_denied', 'recipient'],
  [550, '5.4.4', 'unable to route: no mail hosts for domain', 'domain_not_found', 'recipient'],
  [552, '5.3.4', 'Message size exceeds fixed maximum message size', 'too_large', 'content'],
  [553, '5.1.8', 'Domain of sender address does not resolve', 'sender_address', 'sender'],
  [502, '5.5.2', 'Command not recognized', 'protocol', 'us'],
  [554, '5.7.0', 'Access denied', 'policy', 'sender'],
  [450, null, 'qwertz', 'refused_for_now', 'network'],
  [599, null, 'qwertz', 'other', 'recipient'],
])('the cause of a reply %i %s %s is %s, which lies with %s', (smtpCode, enhancedStatus, text, code, owner) => {
  const explanation = explainAttempt(replied(smtpCode, enhancedStatus, text))
  expect(explanation).toMatchObject({ code, owner, cause: expect.stringMatching(/\.$/), advice: expect.stringMatching(/\.$/) })
})

test.each([
  ['5.1.2 the domain signup.example does not exist', 'domain_not_found', 'recipient'],
  [
    '4.1.2 the domain x.example does not exist, say the name servers; they are asked again at 2026-11-21T06:15:00.000Z, before it bounces',
    'domain_doubtful',
    'recipient',
  ],
  [
    '4.4.4 no host of x.example has an address, say the name servers; its time ends before they are asked again',
    'domain_doubtful',
    'recipient',
  ],
  ["4.4.3 the name servers do not even find the sender's send.shop.example, so they are not believed about x.example", 'dns', 'network'],
  ['5.1.10 the domain timeout.example accepts no mail (null MX)', 'null_mx', 'recipient'],
  ['4.4.3 no name server could resolve the MX hosts of tls.example', 'dns', 'network'],
  ['4.5.0 mx.example (192.0.2.1) broke the SMTP protocol: its answer …', 'unclear_answer', 'network'],
  ['5.4.4 no host of private.example has an address', 'domain_not_found', 'recipient'],
  ['5.4.4 the mail hosts of x.example are at mx.x.example (10.0.0.1), which is not a public address', 'private_address', 'recipient'],
  ['5.4.6 the mail for x.example would loop back to this server', 'private_address', 'recipient'],
  ['mx.example (192.0.2.1): time-out: no answer to the connection', 'timeout', 'network'],
  ['mx.example (192.0.2.1): the connection failed: connect ECONNREFUSED', 'timeout', 'network'],
  ['mx.example (192.0.2.1): TLS is required, but the handshake failed: wrong version number', 'tls', 'network'],
  ['mx.example (192.0.2.1): TLS is required here, but the handshake failed, as attempts stored before say', 'tls', 'network'],
  [
    '5.7.30 mx.example (192.0.2.1): TLS is required by the policy verify of the message (REQUIRETLS), but the host does not offer REQUIRETLS, so it might send the message on without',
    'require_tls',
    'sender',
  ],
  ['5.6.7 mx.example does not accept internationalised addresses or headers (SMTPUTF8)', 'characters', 'content'],
  ['5.3.4 mx.example accepts messages up to 1000 bytes; this one has 2000', 'too_large', 'content'],
  ['4.3.0 an error of this server: oops', 'internal_error', 'us'],
])('without a reply, the cause of "%s" is %s, which lies with %s', (reply, code, owner) => {
  const outcome = reply.startsWith('5') ? ('bounced' as const) : ('deferred' as const)
  expect(explainAttempt({ outcome, smtpCode: null, enhancedStatus: null, reply, provider: null, phase: null })).toMatchObject({
    code,
    owner,
  })
})

test.each([
  ['suppressed', null, 'The address is on the suppression list: …', 'suppressed', 'sender'],
  ['internal_error', null, '5.3.0 the content is gone', 'internal_error', 'us'],
  ['expired', 451, 'Given up: not delivered in time. Last: 451 4.7.1 Greylisted', 'greylisting', 'network'],
  ['expired', null, 'Given up: not delivered in time. Last: mx.example (192.0.2.1): time-out: no greeting', 'timeout', 'network'],
  [
    'expired',
    450,
    'Given up: not delivered in time. Last: 450 4.7.25 Client host rejected: cannot find your hostname',
    'reverse_dns',
    'us',
  ],
  ['expired', null, 'Given up: not delivered in time. Last: no attempt was made', 'not_tried', 'us'],
  ['other', 450, 'Given up by the operator of the relay. Last: 450 later', 'ended_by_operator', 'us'],
  ['invalid_recipient', null, '5.1.1 mailbox closed', 'invalid_recipient', 'recipient'],
  ['mailbox_full', null, 'The mailbox is full', 'mailbox_full', 'recipient'],
  ['content_rejected', 550, '550 no', 'content_rejected', 'content'],
  ['reputation', null, 'Your address is on our list', 'reputation', 'us'],
  ['policy', 550, '550 no', 'policy', 'sender'],
  ['policy', null, 'there is no PTR record for your address', 'reverse_dns', 'us'],
  ['other', null, 'it did not work out', 'other', 'recipient'],
] as const)('the cause of a bounce of category %s with %s "%s" is %s, which lies with %s', (category, smtpCode, reply, code, owner) => {
  const explanation = explainAttempt({ outcome: 'bounced', smtpCode, enhancedStatus: null, reply, provider: null, phase: null, category })
  expect(explanation).toMatchObject({ code, owner })
  expect(explanation.advice).not.toContain('retries')
})

test('says what Sterna does about it while it waits, and once it has given up', () => {
  const facts = { smtpCode: 451, enhancedStatus: '4.7.1', reply: '451 4.7.1 Greylisted', provider: null, phase: null }
  expect(explainAttempt({ ...facts, outcome: 'deferred' })).toMatchObject({ adviceCodes: ['retried'] })
  expect(explainAttempt({ ...facts, outcome: 'bounced' })).toMatchObject({ adviceCodes: ['given_up'] })
  const silent = {
    outcome: 'deferred' as const,
    smtpCode: null,
    enhancedStatus: null,
    reply: 'mx.example: time-out',
    provider: null,
    phase: null,
  }
  expect(explainAttempt(silent)).toMatchObject({
    adviceCodes: ['retried', 'timeout'],
    advice: expect.stringMatching(/schedule\. If .*25\.$/),
  })
})

test('each cause is a full sentence', () => {
  expect(causeCodes.filter((code) => !/^[A-Z].*\.$/.test(causes[code].what))).toEqual([])
})

test('a delivery is nothing to worry about', () => {
  const reply = 'queued, mailbox full of joy'
  const explanation = explainAttempt({
    outcome: 'delivered',
    smtpCode: 250,
    enhancedStatus: '2.0.0',
    reply,
    provider: 'google',
    phase: null,
  })
  expect(explanation.cause).toBe('The receiving server accepted the message.')
})
