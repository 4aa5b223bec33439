import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'

test('mail leaves from the address that is set, with its name, and the attempt shows it', async () => {
  const mx = await startFakeMx()
  onTestFinished(() => mx.close())
  const zone = { 'rcpt.example': { a: [mx.host] } }
  const relay = await startTestRelay({ delivery_port: String(mx.port), delivery_source_addresses: '127.0.2.31 mail31.relay.example' }, zone)
  onTestFinished(() => relay.stop())
  const id = await relay.send('bob@rcpt.example')
  await mx.waitForMessages(1)
  expect(mx.sessions).toMatchObject([{ remoteAddress: '127.0.2.31', commands: expect.arrayContaining(['EHLO mail31.relay.example']) }])
  const attempts = async () => (await relay.call('GET', `/api/emails/${id}/attempts`)).body.data
  await expect.poll(attempts).toMatchObject([{ outcome: 'delivered', source_address: '127.0.2.31' }])
})

test('in sandbox mode a relay starts without its source addresses, because no mail leaves', async () => {
  const relay = await startTestRelay({ mode: 'sandbox', delivery_source_addresses: '192.0.2.77' })
  onTestFinished(() => relay.stop())
  const id = await relay.send('bob@rcpt.example')
  await expect.poll(async () => (await relay.recipients(id))['bob@rcpt.example']?.status).toBe('delivered')
})
