import { expect, onTestFinished, test } from 'vitest'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

async function start(settings: Record<string, string> = {}): Promise<TestRelay> {
  const relay = await startTestRelay(settings)
  onTestFinished(() => relay.stop())
  return relay
}

const email = { from: 'app@sender.example', to: 'delivered@simulator.test', subject: 'Hello', text: 'Hello' }
const remainingAfter = async (relay: TestRelay, path: string, body?: unknown): Promise<[status: number, remaining: string | null]> => {
  const response = await fetch(`${relay.baseUrl}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${relay.token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  await response.arrayBuffer()
  return [response.status, response.headers.get('ratelimit-remaining')]
}

test('a batch counts once, other doors over HTTP count too, SMTP does not; over the limit nothing is taken, also after a restart', async () => {
  const relay = await start({ plans: 'enterprise=4' })
  const compat = {
    personalizations: [{ to: [{ email: email.to }] }],
    from: { email: email.from },
    subject: 'Hello',
    content: [{ type: 'text/plain', value: 'Hello' }],
  }
  expect(await remainingAfter(relay, '/api/emails/batch', [email, email, email])).toEqual([200, '3'])
  expect(await remainingAfter(relay, '/compat/sendgrid/v3/mail/send', compat)).toEqual([202, '2'])
  expect(await remainingAfter(relay, '/openapi.json')).toEqual([200, null])
  expect(await remainingAfter(relay, '/api/nothing')).toEqual([404, '1'])
  expect(await remainingAfter(relay, '/api/emails')).toEqual([200, '0'])
  const areRefused = async (): Promise<void> => {
    expect(await remainingAfter(relay, '/api/emails', email)).toEqual([429, '0'])
    expect(await remainingAfter(relay, '/compat/sendgrid/v3/mail/send', compat)).toEqual([429, '0'])
  }
  await areRefused()
  await relay.restart()
  await areRefused()
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  const message = 'From: app@sender.example\r\nTo: delivered@simulator.test\r\nSubject: x\r\n\r\nHello\r\n'
  expect((await client.send(message, { from: 'app@sender.example', to: ['delivered@simulator.test'] })).code).toBe(250)
  client.close()
  expect(await relay.relay.services.db.read('select id from message')).toHaveLength(5)
})

test('what was counted before a restart is neither lost nor counted again', async () => {
  const relay = await start()
  const counts = async (): Promise<Record<string, number>> =>
    (await relay.call('GET', '/api/emails/metrics?metrics=sent,delivered,bounced,opened')).body.totals
  for (const name of ['delivered', 'bounced', 'opened']) await relay.send(`${name}@simulator.test`)
  await expect.poll(counts).toEqual({ sent: 3, delivered: 2, bounced: 1, opened: 1 })
  await relay.restart()
  expect(await counts()).toEqual({ sent: 3, delivered: 2, bounced: 1, opened: 1 })
  await relay.send('delivered@simulator.test')
  await relay.restart()
  await expect.poll(counts).toEqual({ sent: 4, delivered: 3, bounced: 1, opened: 1 })
})
