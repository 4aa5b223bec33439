import { createTransport } from 'nodemailer'
import { expect, onTestFinished, test } from 'vitest'
import { startTestRelay } from '../support/start-relay.ts'

test('a server in sandbox mode lets no mail out, whatever key and door it comes by', async () => {
  const relay = await startTestRelay({ mode: 'sandbox' })
  onTestFinished(() => relay.stop())
  const id = await relay.send('ann@real.example')
  await expect.poll(() => relay.events(id)).toEqual(['email.delivered', 'email.sent', 'email.queued'])
  const transport = createTransport({
    host: '127.0.0.1',
    port: relay.submissionPort,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'any', pass: relay.token },
  })
  const { response } = await transport.sendMail({ from: 'me@anywhere.example', to: 'bob@real.example', subject: 'Hi', text: 'Hi' })
  const bySmtp = /em_\w+/.exec(response)?.[0] ?? ''
  await expect.poll(() => relay.events(bySmtp)).toEqual(['email.delivered', 'email.sent', 'email.queued'])
  expect(relay.dns.queries).toEqual([])
})
