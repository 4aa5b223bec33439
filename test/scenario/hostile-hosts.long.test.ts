import { createTransport } from 'nodemailer'
import { expect, onTestFinished, test } from 'vitest'
import { startFakeMx } from '../support/fake-mx.ts'
import { startHostileSink, type SilentAt } from '../support/hostile-sink.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

const minute = 60_000
const hour = 60 * minute
const phases: SilentAt[] = ['banner', 'ehlo', 'mail', 'rcpt', 'data', 'dot']

const emailTo = (to: string) => ({ from: 'app@sender.example', to, subject: 'Hello', text: 'Hello' })

/** Stored and claimed like any mail that is due, not handed on in memory. */
async function queueUp(relay: TestRelay, addresses: string[], fields: Record<string, unknown> = {}): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < addresses.length; i += 100) {
    const { status, body } = await relay.call(
      'POST',
      '/api/emails/batch',
      addresses.slice(i, i + 100).map((to) => ({ ...emailTo(to), ...fields })),
    )
    expect(status).toBe(200)
    ids.push(...body.data.map(({ id }: { id: string }) => id))
  }
  return ids
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, number) => number)

/** At hosts other than the healthy one. */
const attemptsOf = async ({ relay }: TestRelay): Promise<number> => {
  const counted = `select count(*) as n from attempt a join recipient r on r.id = a.recipient_id where r.destination <> 'rcpt.example'`
  return (await relay.services.db.read<{ n: number }>(counted))[0]?.n ?? 0
}
const inHand = async ({ relay }: TestRelay): Promise<number> =>
  (await relay.services.db.read<{ n: number }>('select count(*) as n from recipient where owner is not null'))[0]?.n ?? 0

test('mail of 20 MB to hosts that hang, at whatever phase, or take it slowly holds up no other mail', async () => {
  const healthy = await startFakeMx({ host: '127.0.2.50' })
  onTestFinished(() => healthy.close())
  const manners = [...phases.map((silentAt) => ({ silentAt })), { silentAt: 'never' as const, bytesPerSecond: 125_000 }]
  const hostile = await Promise.all(manners.map((manner, i) => startHostileSink(`127.0.2.${60 + i}`, healthy.port, manner)))
  onTestFinished(() => hostile.forEach((sink) => sink.close()))
  const zone = Object.fromEntries(manners.map((_, i) => [`hostile${i}.example`, { a: [`127.0.2.${60 + i}`] }]))
  const relay = await startTestRelay({ delivery_port: String(healthy.port) }, { ...zone, 'rcpt.example': { a: ['127.0.2.50'] } })
  onTestFinished(() => relay.stop())

  const transport = createTransport({
    host: '127.0.0.1',
    port: relay.submissionPort,
    tls: { rejectUnauthorized: false },
    auth: { user: 'any', pass: relay.token },
  })
  const to = Object.keys(zone).map((domain) => `u@${domain}`)
  const raw = Buffer.from(
    `From: app@sender.example\r\nSubject: large\r\n\r\n${'All work and no play makes a dull relay.\r\n'.repeat(480_000)}`,
  )
  for (let i = 0; i < 4; i++) await transport.sendMail({ envelope: { from: 'app@sender.example', to }, raw })
  await expect.poll(() => hostile.every(({ connections }) => connections > 0)).toBe(true)

  const [queued = ''] = await queueUp(relay, ['queued@rcpt.example'])
  const fresh = await relay.send('fresh@rcpt.example')
  const delivered = { status: 'delivered' }
  await expect.poll(() => relay.recipients(queued)).toEqual({ 'queued@rcpt.example': expect.objectContaining(delivered) })
  await expect.poll(() => relay.recipients(fresh)).toEqual({ 'fresh@rcpt.example': expect.objectContaining(delivered) })
  // Large mail is no worse off.
  await transport.sendMail({ envelope: { from: 'app@sender.example', to: 'large@rcpt.example' }, raw })
  await expect.poll(() => healthy.messages.map(({ data }) => data.length > raw.length)).toEqual([false, false, true])
})

test('thousands of domains that hang leave room for a destination that has answered', async () => {
  const healthy = await startFakeMx({ host: '127.0.2.51' })
  onTestFinished(() => healthy.close())
  const addresses = numbers(110).map((i) => `127.0.6.${i + 1}`)
  const silent = await Promise.all(addresses.map((address) => startHostileSink(address, healthy.port, { silentAt: 'banner' })))
  onTestFinished(() => silent.forEach((sink) => sink.close()))
  const domains = numbers(2_200).map((i) => `hangs${i}.example`)
  const zone = Object.fromEntries(domains.map((domain, i) => [domain, { a: [addresses[i % addresses.length] ?? ''] }]))
  const relay = await startTestRelay({ delivery_port: String(healthy.port) }, { ...zone, 'rcpt.example': { a: ['127.0.2.51'] } })
  onTestFinished(() => relay.stop())
  await relay.send('first@rcpt.example')
  await healthy.waitForMessages(1)
  await queueUp(
    relay,
    domains.map((domain) => `u@${domain}`),
  )
  await expect.poll(() => inHand(relay)).toBe(2_000)

  await queueUp(relay, ['queued@rcpt.example'])
  await expect.poll(() => healthy.messages.length).toBe(2)
})

test('a host that is down rests, is probed by one message, and wakes all that waits for it when it answers', async () => {
  const mx = await startFakeMx({ host: '127.0.2.53', on: { banner: () => 'close' } })
  onTestFinished(() => mx.close())
  const healthy = await startFakeMx({ host: '127.0.2.54', port: mx.port })
  onTestFinished(() => healthy.close())
  const zone = { 'one.example': { a: ['127.0.2.53'] }, 'two.example': { a: ['127.0.2.53'] }, 'rcpt.example': { a: ['127.0.2.54'] } }
  const relay = await startTestRelay({ delivery_port: String(mx.port), delivery_retry_schedule: '1h' }, zone)
  onTestFinished(() => relay.stop())
  const ids = await queueUp(
    relay,
    numbers(300).map((i) => `u${i}@${i % 2 === 0 ? 'one' : 'two'}.example`),
  )
  await expect.poll(() => inHand(relay)).toBe(0)
  const before = await attemptsOf(relay)
  expect(before).toBeLessThan(50)

  /** What became due has been tried once mail that was sent after it has arrived. */
  const settled = async (): Promise<void> => {
    const count = healthy.messages.length
    await queueUp(relay, ['later@rcpt.example'])
    await healthy.waitForMessages(count + 1)
    await expect.poll(() => inHand(relay)).toBe(0)
  }
  // Not before it may be tried again; then once, and after that not before twice the time.
  relay.clock.advance(4_000)
  await settled()
  expect(await attemptsOf(relay)).toBe(before)
  relay.clock.advance(3_000)
  await expect.poll(() => attemptsOf(relay)).toBe(before + 1)
  relay.clock.advance(9_000)
  await settled()
  expect(await attemptsOf(relay)).toBe(before + 1)
  expect(mx.sessions.length).toBeLessThan(50)
  // An operator need not wait.
  await relay.relay.services.queueAdmin.retry('one.example')
  await expect.poll(() => attemptsOf(relay)).toBe(before + 2)

  // Fresh mail waits with the others.
  ids.push(await relay.send('fresh@two.example'))
  mx.on = {}
  relay.clock.advance(30_000)
  const isDone = async (): Promise<boolean> => {
    const waiting = await relay.relay.services.db.read<{ n: number }>("select count(*) as n from recipient where state = 'queued'")
    return waiting[0]?.n === 0
  }
  await expect.poll(isDone).toBe(true)
  // What was tried while the host was down may wait for its own time.
  expect(mx.messages.length).toBeGreaterThanOrEqual(ids.length - before - 2)
  relay.clock.advance(2 * hour)
  await mx.waitForMessages(ids.length)
})

test('mail whose time ends while its host rests bounces then, with what the host said last, and was not tried', async () => {
  const mx = await startFakeMx({ host: '127.0.2.54', on: { banner: () => '421 4.3.2 Closed for repairs' } })
  onTestFinished(() => mx.close())
  const relay = await startTestRelay({ delivery_port: String(mx.port) }, { 'rcpt.example': { a: ['127.0.2.54'] } })
  onTestFinished(() => relay.stop())
  await queueUp(
    relay,
    numbers(40).map((i) => `u${i}@rcpt.example`),
  )
  await expect.poll(() => inHand(relay)).toBe(0)
  const [short = ''] = await queueUp(relay, ['short@rcpt.example'], { expires_in: 60 })
  const later = () => {
    relay.clock.advance(15_000)
    return relay.recipients(short)
  }
  await expect.poll(later).toMatchObject({
    'short@rcpt.example': { status: 'bounced', attempts: 0, last_response: expect.stringContaining('421 4.3.2 Closed for repairs') },
  })
  expect(await relay.events(short)).toEqual(['email.bounced', 'email.sent', 'email.queued'])
})
