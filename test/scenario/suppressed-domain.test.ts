import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'

const hour = 3_600_000

test('mail to a suppressed domain is not sent, at once or when it waited, and clients of other services list no domains', async () => {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const zone = { 'rcpt.example': { a: ['127.0.0.2'] }, 'mail.rcpt.example': { a: ['127.0.0.2'] } }
  const relay = await startTestRelay({ delivery_port: String(mx.port) }, zone)
  onTestFinished(() => relay.stop())
  const becomes = (id: string, address: string, status: string) =>
    expect.poll(async () => (await relay.recipients(id))[address]?.status).toBe(status)
  const scheduled = await relay.send('then@rcpt.example', { scheduled_at: new Date(relay.clock.now() + hour).toISOString() })
  await becomes(await relay.send('ann@rcpt.example'), 'ann@rcpt.example', 'delivered')
  expect((await relay.call('POST', '/api/suppressions', { emails: ['@Rcpt.Example', 'eve@other.example'] })).status).toBe(201)

  const both = await relay.send(['Ann@RCPT.example', 'bob@mail.rcpt.example'])
  await becomes(both, 'Ann@rcpt.example', 'suppressed')
  await becomes(both, 'bob@mail.rcpt.example', 'delivered')
  await becomes(await relay.send('cyd@rcpt.example'), 'cyd@rcpt.example', 'suppressed')
  relay.clock.advance(hour)
  await becomes(scheduled, 'then@rcpt.example', 'suppressed')
  expect(mx.messages).toHaveLength(2)

  const url = `${relay.baseUrl}/compat/postmark/message-streams/outbound/suppressions/dump`
  const dump = await fetch(url, { headers: { 'x-postmark-server-token': relay.token, accept: 'application/json' } })
  expect(await dump.json()).toMatchObject({ Suppressions: [{ EmailAddress: 'eve@other.example' }] })

  await relay.restart()
  await becomes(await relay.send('dan@rcpt.example'), 'dan@rcpt.example', 'suppressed')
  expect((await relay.call('DELETE', '/api/suppressions/@rcpt.example')).status).toBe(200)
  await becomes(await relay.send('ann@rcpt.example'), 'ann@rcpt.example', 'delivered')
})
