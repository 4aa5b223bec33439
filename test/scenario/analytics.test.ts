import { expect, onTestFinished, test } from 'vitest'
import { recordEvent } from '../../src/mail/event/event-log.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { testCertificate } from '../support/test-certificates.ts'
import { startTestRelay } from '../support/start-relay.ts'

test('what a provider takes and refuses counts for it, and a late verdict changes counts only', async () => {
  const host = '127.0.2.9'
  const tls = await testCertificate(['aspmx.l.google.com'])
  const mx = await startFakeMx({
    host,
    tls,
    on: { rcpt: (address) => (address.startsWith('gone') ? '550 5.1.1 No such user' : undefined) },
  })
  const plain = await startFakeMx({ host: '127.0.2.10', port: mx.port })
  onTestFinished(async () => void (await Promise.all([mx.close(), plain.close()])))
  const relay = await startTestRelay(
    { delivery_port: String(mx.port) },
    {
      'big.example': { mx: [[10, 'aspmx.l.google.com']] },
      'small.example': { mx: [[10, 'mx.small.example']] },
      'aspmx.l.google.com': { a: [host] },
      'mx.small.example': { a: [plain.host] },
    },
  )
  onTestFinished(() => relay.stop())
  const status = async (id: string, address: string) => (await relay.recipients(id))[address]?.status
  for (const [address, state] of [
    ['ann@big.example', 'delivered'],
    ['gone@big.example', 'bounced'],
    ['bob@small.example', 'delivered'],
  ] as const) {
    const id = await relay.send(address)
    await expect.poll(() => status(id, address)).toBe(state)
  }
  const read = async (query: string) => (await relay.call('GET', `/api/analytics${query}`)).body
  expect((await read('?dimensions=provider&metrics=sent,delivered,bounced')).data).toEqual([
    { provider: 'google', sent: 2, delivered: 1, bounced: 1 },
    { provider: 'other', sent: 1, delivered: 1, bounced: 0 },
  ])
  expect((await read('?dimensions=provider&metrics=delivered_encrypted,delivered_unencrypted,encryption_rate')).data).toEqual([
    { provider: 'google', delivered_encrypted: 1, delivered_unencrypted: 0, encryption_rate: 1 },
    { provider: 'other', delivered_encrypted: 0, delivered_unencrypted: 1, encryption_rate: 0 },
  ])
  expect((await read('/latency')).data).toMatchObject([
    { provider: 'google', delivered: 1 },
    { provider: 'other', delivered: 1 },
  ])
  expect((await read('?dimensions=bounce_category&metrics=bounced')).data).toEqual([{ bounce_category: 'invalid_recipient', bounced: 1 }])

  const id = await relay.send('clicked@simulator.test')
  await expect.poll(async () => (await relay.events(id)).includes('email.clicked')).toBe(true)
  const clicks = 'metrics=clicked,bot_clicked,unique_opened,unique_clicked'
  expect((await read(`?${clicks}`)).totals).toEqual({ clicked: 1, bot_clicked: 0, unique_opened: 1, unique_clicked: 1 })
  const { db, accounts } = relay.relay.services
  const [click] = await db.read<{ id: string; recipient_id: string }>(
    "select id, recipient_id from event where message_id = :id and type = 'email.clicked'",
    { id },
  )
  const about = {
    accountId: accounts.getAccount('test').id,
    messageId: id,
    recipientId: click!.recipient_id,
    to: 'clicked@simulator.test',
    subject: '',
    sandbox: false,
  }
  const verdict = {
    event_id: click!.id,
    type: 'email.clicked',
    at: new Date(relay.clock.now()).toISOString(),
    bot: true,
    bot_reason: 'burst',
    bot_confidence: 0.9,
  }
  await db.write([recordEvent(about, 'email.rejudged', verdict, relay.clock.now())])
  // The person's open stays.
  expect((await read(`?${clicks}`)).totals).toEqual({ clicked: 1, bot_clicked: 1, unique_opened: 1, unique_clicked: 0 })
  expect((await read(`/links?email_id=${id}`)).data).toEqual([
    { link: 'https://simulator.test/', clicked: 1, bot_clicked: 1, unique_clicked: 0 },
  ])
  expect(await relay.events(id)).toContain('email.rejudged')
  expect((await relay.call('GET', `/api/emails/${id}`)).body.last_event).toBe('clicked')
  const { data: feed } = (await relay.call('GET', '/api/events?order=asc&limit=100')).body
  expect(feed.map(({ type }: { type: string }) => type)).not.toContain('email.rejudged')
})
