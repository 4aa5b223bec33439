import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/platform/log.ts'
import { databaseLock } from '../support/database-lock.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { SmtpClient } from '../support/smtp-client.ts'
import { startTestRelay } from '../support/start-relay.ts'
import { startReceiver, status } from '../support/webhook-receiver.ts'

const hour = 3_600_000
const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] as [number, string][] }, 'mx.rcpt.example': { a: ['127.0.0.2'] } }

/** A relay that gives up on a lock soon, what it logs, and somebody who can lock its database. */
async function start(settings: Record<string, string> = {}) {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const lines: string[] = []
  const log = createLog('error', (line) => lines.push(line))
  const relay = await startTestRelay({ delivery_port: String(mx.port), ...settings }, zone, { busyTimeoutMs: 50, log })
  onTestFinished(() => relay.stop())
  const lock = await databaseLock(join(relay.dataDir, 'sterna.db'))
  return { mx, relay, lock, failures: () => lines.filter((line) => line.includes('cannot be written to the database')) }
}

test('what was delivered while another process locked the database is delivered once', async () => {
  const { mx, relay, lock, failures } = await start()
  const { promise: isLocked, resolve: noteLocked } = Promise.withResolvers<void>()
  mx.on = { dot: () => ({ reply: '250 2.0.0 Ok', after: isLocked }) }
  const names = Array.from({ length: 20 }, (_, i) => `u${i}@rcpt.example`)
  const id = await relay.send(names)
  await mx.waitForMessages(1)
  await lock.take()
  noteLocked()
  await mx.waitForMessages(names.length)
  await expect.poll(failures).toHaveLength(1)

  // Meanwhile nobody is told that mail was taken, nor that it never will be.
  const refused = await relay.call('POST', '/api/send', {
    from: 'app@sender.example',
    to: 'late@rcpt.example',
    subject: 'Hello',
    text: 'Hello',
  })
  expect(refused).toMatchObject({ status: 503, body: { name: 'service_unavailable' } })
  const client = await SmtpClient.logIn(relay.submissionPort, relay.token)
  const message = 'From: app@sender.example\r\nSubject: Hello\r\n\r\nHello.'
  expect((await client.send(message, { from: 'app@sender.example', to: ['late@rcpt.example'] })).last).toMatch(/^451 4\.3\.0 /)
  client.close()
  expect(Object.values(await relay.recipients(id))).toMatchObject(names.map(() => ({ status: 'queued' })))

  await lock.letGo()
  const isDelivered = { status: 'delivered', attempts: 1 }
  await expect.poll(async () => Object.values(await relay.recipients(id))).toMatchObject(names.map(() => isDelivered))
  expect(failures()).toHaveLength(1)
  await relay.restart()
  relay.clock.advance(hour)
  const last = await relay.send('last@rcpt.example')
  await expect.poll(async () => Object.values(await relay.recipients(last))).toMatchObject([isDelivered])
  expect(mx.messages.flatMap(({ rcptTo }) => rcptTo).toSorted()).toEqual([...names, 'last@rcpt.example'].toSorted())
})

test('what was posted to a webhook while the database was locked is posted once', async () => {
  const { mx, relay, lock, failures } = await start({ webhooks_allow_private_addresses: 'true' })
  const receiver = await startReceiver(status(200))
  await relay.call('POST', '/api/webhooks', { url: receiver.url, events: ['email.delivered'] })
  receiver.behave = (response) => void lock.take().then(() => response.writeHead(200).end())
  const id = await relay.send('ann@rcpt.example')
  await expect.poll(failures).toHaveLength(1)
  receiver.behave = status(200)
  await lock.letGo()
  await relay.restart()
  relay.clock.advance(hour)
  const last = await relay.send('last@rcpt.example')
  await expect.poll(() => receiver.posts.map(({ body }) => JSON.parse(body).data.email_id)).toEqual([id, last])
  expect(mx.messages).toHaveLength(2)
})

test('a stop ends in time though the database is locked, and mail that was not tried is delivered after the next start', async () => {
  const { mx, relay, lock } = await start()
  mx.on = { rcpt: () => '451 4.7.1 Later' }
  const id = await relay.send('ann@rcpt.example')
  await expect.poll(async () => Object.values(await relay.recipients(id))).toMatchObject([{ status: 'deferred' }])
  mx.on = {}
  await lock.take()
  await relay.relay.stop()
  await lock.letGo()
  await relay.restart()
  relay.clock.advance(hour)
  await expect.poll(async () => Object.values(await relay.recipients(id))).toMatchObject([{ status: 'delivered' }])
})
