import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/log.ts'
import { startFakeMx } from '../support/fake-mx.ts'
import { startTestRelay } from '../support/start-relay.ts'

const minute = 60_000
const hour = 60 * minute
const zone = { 'rcpt.example': { mx: [[10, 'mx.rcpt.example']] as [number, string][] }, 'mx.rcpt.example': { a: ['127.0.0.2'] } }

async function start() {
  const mx = await startFakeMx({ host: '127.0.0.2' })
  onTestFinished(() => mx.close())
  const warnings: { message: string; clock?: string; newest?: string }[] = []
  const log = createLog('warn', (line) => warnings.push(JSON.parse(line)))
  const relay = await startTestRelay({ delivery_port: String(mx.port) }, zone, { log })
  onTestFinished(() => relay.stop())
  const statusOf = async (id: string) => Object.values(await relay.recipients(id))[0]?.status
  const becomes = (id: string, status: string) => expect.poll(() => statusOf(id)).toBe(status)
  const bounceOf = async (id: string) => {
    const { body } = await relay.call('GET', `/api/emails/${id}/events`)
    return body.data.find(({ type }: { type: string }) => type === 'email.bounced')?.data
  }
  const tried = () =>
    mx.sessions.flatMap(({ commands }) =>
      commands.filter((command) => command.startsWith('RCPT')).map((command) => /<([^@]*)@/.exec(command)?.[1]),
    )
  return { mx, relay, warnings, becomes, bounceOf, tried }
}

test('after days without power what was due meanwhile is tried once more, and only then given up', async () => {
  const { mx, relay, warnings, becomes, bounceOf, tried } = await start()
  const later = new Date(relay.clock.now() + hour).toISOString()
  const scheduled = await relay.send('scheduled@rcpt.example', { scheduled_at: later })
  mx.on = { rcpt: () => '451 4.7.1 Later' }
  const deferred = await relay.send('deferred@rcpt.example')
  const refused = await relay.send('refused@rcpt.example')
  const code = await relay.send('code@rcpt.example', { expires_in: 3_600 })
  for (const id of [deferred, refused, code]) await becomes(id, 'deferred')

  await relay.relay.stop()
  relay.clock.advance(72 * hour)
  mx.on = { rcpt: (address) => (address.startsWith('refused') ? '452 4.2.2 Over quota' : undefined) }
  const before = tried().length
  await relay.restart()
  expect(warnings.filter(({ newest }) => newest)).toMatchObject([
    { message: expect.stringContaining('for more than a day'), clock: '2026-11-24T06:00:00.000Z', newest: '2026-11-21T06:00:00.000Z' },
  ])
  for (const id of [scheduled, deferred]) await becomes(id, 'delivered')
  for (const id of [refused, code]) await becomes(id, 'bounced')
  // A one-time code that arrives late does harm.
  expect(tried().slice(before).toSorted()).toEqual(['deferred', 'refused', 'scheduled'])
  expect(await relay.recipients(refused)).toMatchObject({ 'refused@rcpt.example': { attempts: 2, smtp_code: 452 } })
  expect(await bounceOf(refused)).toMatchObject({
    bounce_type: 'soft',
    bounce_category: 'expired',
    smtp_code: 452,
    reason: expect.stringContaining('Over quota'),
  })
  expect(await bounceOf(code)).toMatchObject({ bounce_category: 'expired', reason: expect.stringContaining('451 4.7.1 Later') })
  for (const id of [refused, code]) expect((await relay.events(id)).filter((type) => type === 'email.bounced')).toHaveLength(1)
})

test('what was tried last at the end of its time is given up without a further attempt', async () => {
  const { mx, relay, becomes, tried } = await start()
  mx.on = { rcpt: () => '451 4.7.1 Later' }
  const id = await relay.send('ann@rcpt.example')
  await becomes(id, 'deferred')
  relay.clock.advance(48 * hour - 1)
  await expect.poll(() => tried().length).toBe(2)
  await expect.poll(async () => (await relay.recipients(id))['ann@rcpt.example']?.attempts).toBe(2)
  relay.clock.advance(hour)
  await becomes(id, 'bounced')
  expect(tried()).toHaveLength(2)
})

test('a clock that is days ahead at the start bounces nothing, and nothing waits for days once it is right', async () => {
  const { mx, relay, becomes } = await start()
  mx.on = { rcpt: () => '451 4.7.1 Later' }
  const old = await relay.send('old@rcpt.example')
  await becomes(old, 'deferred')
  await relay.relay.stop()
  mx.on = { rcpt: (address) => (address.startsWith('old') ? undefined : '451 4.7.1 Later') }
  relay.clock.correct(72 * hour)
  await relay.restart()
  await becomes(old, 'delivered')
  const wrong = await relay.send('wrong@rcpt.example')
  const atItsTime = await relay.send('date@rcpt.example', { scheduled_at: new Date(relay.clock.now() + hour).toISOString() })
  await becomes(wrong, 'deferred')

  mx.on = {}
  relay.clock.correct(-72 * hour)
  await becomes(wrong, 'delivered')
  await becomes(atItsTime, 'scheduled')
  const fresh = await relay.send('fresh@rcpt.example')
  await becomes(fresh, 'delivered')
})

test('the same where the clock was set right while the server was off', async () => {
  const { mx, relay, warnings, becomes } = await start()
  relay.clock.correct(72 * hour)
  mx.on = { rcpt: () => '451 4.7.1 Later' }
  const id = await relay.send('wrong@rcpt.example')
  await becomes(id, 'deferred')
  await relay.relay.stop()
  mx.on = {}
  relay.clock.correct(-72 * hour)
  await relay.restart()
  expect(warnings.filter(({ newest }) => newest)).toMatchObject([
    { message: expect.stringContaining('is behind the newest'), clock: '2026-11-21T06:00:00.000Z', newest: '2026-11-24T06:00:00.000Z' },
  ])
  await becomes(id, 'delivered')
})
