import { expect, test } from 'vitest'
import { explainAttempt } from '../../../src/http/api/explain-attempt.ts'

const replied = (code: number, enhancedStatus: string | null, text: string) => ({
  outcome: code < 500 ? ('deferred' as const) : ('bounced' as const),
  smtpCode: code,
  enhancedStatus,
  reply: `${code} ${enhancedStatus ?? ''} ${text}`,
})

test.each([
  [451, '4.7.1', 'Greylisting in action, please come back later', 'network', /greylisting/],
  [450, null, 'Graylisted, try again in 300 seconds', 'network', /greylisting/],
  [421, '4.7.28', 'Our system has detected an unusual rate of mail', 'network', /how much mail/],
  [452, '4.3.1', 'Too many recipients received this hour', 'network', /how much mail/],
  [550, '5.7.26', 'This mail has been blocked because the sender is unauthenticated', 'sender', /SPF, DKIM or DMARC/],
  [550, '5.7.1', 'Rejected by DMARC policy of the domain', 'sender', /SPF, DKIM or DMARC/],
  [554, '5.7.1', 'Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org', 'sender', /does not trust/],
  [550, '5.7.1', 'Message content rejected as spam', 'content', /content/],
  [552, '5.2.2', 'The email account that you tried to reach is over quota', 'recipient', /full/],
  [452, '4.2.2', 'Mailbox full', 'recipient', /full/],
  [550, '5.1.1', 'The email account that you tried to reach does not exist', 'recipient', /mailbox does not exist/],
  [550, null, 'No such user here', 'recipient', /mailbox does not exist/],
  [550, null, 'Empfänger unbekannt', 'recipient', /mailbox does not exist/],
  [550, '5.1.1', 'Relaying denied', 'sender', /policy/],
  [550, '5.4.4', 'unable to route: no mail hosts for domain', 'recipient', /no mail server/],
  [552, '5.3.4', 'Message size exceeds fixed maximum message size', 'content', /larger/],
  [553, '5.1.8', 'Domain of sender address does not resolve', 'sender', /sender address/],
  [502, '5.5.2', 'Command not recognized', 'us', /understand/],
  [554, '5.7.0', 'Access denied', 'sender', /policy/],
  [450, null, 'qwertz', 'network', /for now/],
  [599, null, 'qwertz', 'recipient', /permanently/],
])('a reply %i %s %s is a matter of %s', (code, enhancedStatus, text, owner, cause) => {
  const explanation = explainAttempt(replied(code, enhancedStatus, text))
  expect(explanation).toEqual({ owner, cause: expect.stringMatching(cause), advice: expect.stringMatching(/\.$/) })
})

test.each([
  ['5.1.2 the domain signup.example does not exist', 'recipient', /does not exist/],
  [
    '4.1.2 the domain x.example does not exist, say the name servers; they are asked again at 2026-11-21T06:15:00.000Z, before it bounces',
    'recipient',
    /may be wrong/,
  ],
  [
    '4.4.4 no host of x.example has an address, say the name servers; its time ends before they are asked again',
    'recipient',
    /may be wrong/,
  ],
  ["4.4.3 the name servers do not even find the sender's send.shop.example, so they are not believed about x.example", 'network', /DNS/],
  ['5.1.10 the domain timeout.example accepts no mail (null MX)', 'recipient', /no mail at all/],
  ['4.4.3 no name server could resolve the MX hosts of tls.example', 'network', /DNS/],
  ['4.5.0 mx.example (192.0.2.1) broke the SMTP protocol: its answer …', 'recipient', /may have the message/],
  ['5.4.4 no host of private.example has an address', 'recipient', /no mail server/],
  ['5.4.4 the mail hosts of x.example are at mx.x.example (10.0.0.1), which is not a public address', 'recipient', /does not connect/],
  ['5.4.6 the mail for x.example would loop back to this server', 'recipient', /does not connect/],
  ['mx.example (192.0.2.1): time-out: no answer to the connection', 'network', /not be reached/],
  ['mx.example (192.0.2.1): the connection failed: connect ECONNREFUSED', 'network', /not be reached/],
  ['mx.example (192.0.2.1): TLS is required, but the handshake failed: wrong version number', 'network', /requires TLS/],
  ['mx.example (192.0.2.1): TLS is required here, but the handshake failed, as attempts stored before say', 'network', /requires TLS/],
  ['5.6.7 mx.example does not accept internationalised addresses or headers (SMTPUTF8)', 'recipient', /characters/],
  ['5.3.4 mx.example accepts messages up to 1000 bytes; this one has 2000', 'content', /larger/],
  ['4.3.0 an error of this server: oops', 'us', /this server/],
])('without a reply, "%s" is a matter of %s', (reply, owner, cause) => {
  const explanation = explainAttempt({
    outcome: reply.startsWith('5') ? 'bounced' : 'deferred',
    smtpCode: null,
    enhancedStatus: null,
    reply,
  })
  expect(explanation).toMatchObject({ owner, cause: expect.stringMatching(cause) })
})

test('a delivery is nothing to worry about', () => {
  const explanation = explainAttempt({ outcome: 'delivered', smtpCode: 250, enhancedStatus: '2.0.0', reply: 'queued, mailbox full of joy' })
  expect(explanation.cause).toBe('The receiving server accepted the message.')
})
