import { createTransport } from 'nodemailer'
import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'

const hour = 3_600_000

test('mail is scheduled, moved and canceled, and what is left is delivered once, across a restart', async () => {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port) },
    { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: ['127.0.0.2'] } },
  )
  onTestFinished(() => relay.stop())
  const at = (hours: number): string => new Date(relay.clock.now() + hours * hour).toISOString()
  const statusOf = async (id: string): Promise<string> => (await relay.call('GET', `/api/emails/${id}`)).body.status
  const schedule = (name: string, hours: number) => relay.send(`${name}@rcpt.example`, { scheduled_at: at(hours) })

  const kept = await schedule('kept', 2)
  const earlier = await schedule('earlier', 5)
  const later = await schedule('later', 1)
  const canceled = await schedule('canceled', 1)
  const now = await schedule('now', 5)
  const [first, second] = (
    await relay.call(
      'POST',
      '/api/emails/batch',
      ['batch1', 'batch2'].map((name) => ({
        from: 'app@sender.example',
        to: `${name}@rcpt.example`,
        subject: 'Hello',
        text: 'Hello',
        scheduled_at: at(2),
      })),
    )
  ).body.data as { id: string }[]
  expect((await relay.call('PATCH', `/api/emails/${earlier}`, { scheduled_at: at(1) })).status).toBe(200)
  expect((await relay.call('PATCH', `/api/emails/${later}`, { scheduled_at: at(4) })).status).toBe(200)
  expect((await relay.call('PATCH', `/api/emails/${now}`, { scheduled_at: at(-1) })).status).toBe(200)
  expect((await relay.call('POST', `/api/emails/${canceled}/cancel`)).status).toBe(200)
  expect((await relay.call('POST', `/api/emails/${second?.id}/cancel`)).status).toBe(200)
  await expect.poll(() => statusOf(now)).toBe('delivered')

  await relay.restart()
  relay.clock.advance(hour)
  await expect.poll(() => statusOf(earlier)).toBe('delivered')
  expect(await Promise.all([kept, later, canceled].map(statusOf))).toEqual(['scheduled', 'scheduled', 'canceled'])
  relay.clock.advance(hour)
  await expect.poll(() => Promise.all([kept, first?.id ?? ''].map(statusOf))).toEqual(['delivered', 'delivered'])
  relay.clock.advance(2 * hour)
  await expect.poll(() => statusOf(later)).toBe('delivered')
  expect(await relay.events(canceled)).toEqual(['email.canceled', 'email.queued'])
  for (const id of [canceled, second?.id])
    expect(await relay.call('POST', `/api/emails/${id}/cancel`)).toMatchObject({ status: 200, body: { object: 'email', id } })
  expect((await relay.call('POST', `/api/emails/${kept}/cancel`)).status).toBe(409)
  expect(await relay.events(canceled)).toEqual(['email.canceled', 'email.queued'])
  expect(mx.messages.flatMap(({ rcptTo }) => rcptTo).toSorted()).toEqual(
    ['batch1', 'earlier', 'kept', 'later', 'now'].map((name) => `${name}@rcpt.example`),
  )
})

test('mail that bounced is sent again to whom it did not reach', async () => {
  const mx = await startFakeMx({ host: '127.0.0.2', on: { rcpt: () => '554 5.7.1 Not today' } })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port) },
    { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: ['127.0.0.2'] } },
  )
  onTestFinished(() => relay.stop())
  const statusOf = async (id: string): Promise<string> => (await relay.call('GET', `/api/emails/${id}`)).body.status
  const id = await relay.send(['ann@rcpt.example', 'bob@rcpt.example'])
  await expect.poll(() => statusOf(id)).toBe('bounced')
  mx.on = {}
  const { status, body } = await relay.call('POST', `/api/emails/${id}/resend`)
  expect(status).toBe(200)
  await expect.poll(() => statusOf(body.id)).toBe('delivered')
  expect(
    mx.messages
      .map(({ rcptTo }) => rcptTo)
      .flat()
      .toSorted(),
  ).toEqual(['ann@rcpt.example', 'bob@rcpt.example'])
})

test('mail that came by SMTP is sent again byte for byte', async () => {
  const mx = await startFakeMx({
    host: '127.0.0.2',
    on: { rcpt: (address) => (address.startsWith('bob') ? '554 5.7.1 Not today' : undefined) },
  })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay(
    { delivery_port: String(mx.port) },
    { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] }, 'mx.rcpt.example': { a: ['127.0.0.2'] } },
  )
  onTestFinished(() => relay.stop())
  const transport = createTransport({
    host: '127.0.0.1',
    port: relay.submissionPort,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'any', pass: relay.token },
  })
  const { response } = await transport.sendMail({
    from: '"Grüße, Shop" <app@sender.example>',
    to: ['ann@rcpt.example', 'bob@rcpt.example'],
    subject: 'Größe',
    text: 'x'.repeat(700_000),
  })
  const id = /em_\w+/.exec(response)?.[0] ?? ''
  await expect.poll(async () => (await relay.recipients(id))['bob@rcpt.example']?.status).toBe('bounced')
  mx.on = {}
  const { status, body } = await relay.call('POST', `/api/emails/${id}/resend`)
  expect(status).toBe(200)
  await expect
    .poll(async () => (await relay.call('GET', `/api/emails/${body.id}`)).body)
    .toMatchObject({ status: 'delivered', source: 'smtp', from: 'Grüße, Shop <app@sender.example>' })
  const [first, again] = mx.messages
  expect([first?.rcptTo, again?.rcptTo]).toEqual([['ann@rcpt.example'], ['bob@rcpt.example']])
  // Signatures have a time, and what refers to a recipient has its token; all else is the same.
  const unsigned = (data: Buffer | undefined) =>
    data?.toString('latin1').replace(/^(?:(?:X-Sterna-Ref|DKIM-Signature):.*\r\n(?:[ \t].*\r\n)*)+/, '')
  expect(unsigned(again?.data) === unsigned(first?.data)).toBe(true)
})
