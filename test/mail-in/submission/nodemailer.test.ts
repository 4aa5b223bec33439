import { randomBytes } from 'node:crypto'
import { createTransport } from 'nodemailer'
import { expect, test } from 'vitest'
import { startTestSubmissionServer } from '../../support/submission-server.ts'

test.each([
  ['STARTTLS', false],
  ['implicit TLS', true],
])('nodemailer hands over a 5 MB attachment by %s and learns our id', async (_, secure) => {
  const relay = await startTestSubmissionServer({ allowPlaintextAuthOnLoopback: false })
  const transport = createTransport({
    host: '127.0.0.1',
    port: secure ? relay.ports.tls : relay.ports.plain,
    secure,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'sterna', pass: 'good' },
  })
  const attachment = randomBytes(5_000_000)
  const sent = await transport.sendMail({
    from: 'Mé <me@example.com>',
    to: 'you@example.net',
    bcc: 'hidden@example.net',
    subject: 'Grüße 🐦',
    text: '.\n..\nhello',
    attachments: [{ filename: 'a.bin', content: attachment }],
  })
  transport.close()
  const [taken] = relay.taken
  expect(sent.response).toBe(`250 2.0.0 Ok: queued as ${taken?.id}`)
  expect(taken?.header.subject).toBe('Grüße 🐦')
  expect(taken?.envelope.recipients.map(({ forwardPath, type }) => [forwardPath, type])).toEqual([
    ['you@example.net', 'to'],
    ['hidden@example.net', 'bcc'],
  ])
  expect(taken?.text).toContain(' with ESMTPSA id ')
  const base64 = attachment.toString('base64').replace(/.{76}/g, '$&\r\n')
  expect(taken?.text.includes(base64.slice(0, -100))).toBe(true)
})
