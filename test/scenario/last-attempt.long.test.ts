import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/platform/log.ts'
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
  const relay = await startTestRelay({ delivery_port: String(mx.port), metrics_listen: '127.0.0.1:0' }, { ...zone }, { log })
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
  const attemptsOf = async (id: string) => Object.values(await relay.recipients(id))[0]?.attempts
  const faults = async () => (await relay.call('GET', '/healthz')).body.faults.map(({ name }: { name: string }) => name)
  /** Nothing is in hand, and what is due waits for a host that rests. */
  const isSettled = () =>
    expect
      .poll(async () => {
        const inHand = await relay.relay.services.db.read('select id from recipient where owner is not null')
        const metrics = await (await fetch(`http://127.0.0.1:${relay.relay.addresses.metrics[0]?.port}/metrics`)).text()
        return [inHand.length, /^sterna_queue_oldest_overdue_seconds (.+)$/m.exec(metrics)?.[1]]
      })
      .toEqual([0, '0'])
  /** Lets time pass in small steps, as it does; what is due in each is tried. */
  const pass = async (ms: number) => {
    for (const end = relay.clock.now() + ms; relay.clock.now() < end;) {
      relay.clock.advance(Math.min(minute, end - relay.clock.now()))
      await isSettled()
    }
  }
  /** Lets time pass until something has happened. What a name server said lately is remembered for seconds that pass by another clock. */
  const passUntil = async (hasHappened: () => boolean) => {
    for (const end = relay.clock.now() + 40 * hour; !hasHappened() && relay.clock.now() < end;) await pass(minute)
  }
  return { mx, relay, warnings, becomes, bounceOf, tried, attemptsOf, faults, isSettled, pass, passUntil }
}

test('after days without power what was due meanwhile is tried for an hour, and only then given up', async () => {
  const { mx, relay, warnings, becomes, bounceOf, tried, attemptsOf, faults, pass } = await start()
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
  await becomes(code, 'bounced')
  await expect.poll(() => attemptsOf(refused)).toBe(2)
  // A one-time code that arrives late does harm.
  expect(tried().slice(before).toSorted()).toEqual(['deferred', 'refused', 'scheduled'])
  expect(await relay.call('GET', '/healthz')).toMatchObject({
    status: 200,
    body: {
      faults: [{ name: 'outage', message: expect.stringContaining('from 2026-11-21T06:00:00.000Z to 2026-11-24T06:00:00.000Z') }],
    },
  })
  await pass(59 * minute)
  await becomes(refused, 'deferred')
  await pass(2 * minute)
  await becomes(refused, 'bounced')
  expect(await faults()).toEqual([])
  expect(await relay.recipients(refused)).toMatchObject({ 'refused@rcpt.example': { smtp_code: 452 } })
  expect(await attemptsOf(refused)).toBeGreaterThanOrEqual(7)
  expect(await bounceOf(refused)).toMatchObject({
    bounce_type: 'soft',
    bounce_category: 'expired',
    smtp_code: 452,
    reason: expect.stringContaining('Over quota'),
  })
  expect(await bounceOf(code)).toMatchObject({ bounce_category: 'expired', reason: expect.stringContaining('451 4.7.1 Later') })
  for (const id of [refused, code]) expect((await relay.events(id)).filter((type) => type === 'email.bounced')).toHaveLength(1)
})

test('a restart after hours without any mail is no outage', async () => {
  const { mx, relay, becomes, faults, pass } = await start()
  mx.on = { rcpt: () => '451 4.7.1 Later' }
  await becomes(await relay.send('waiting@rcpt.example'), 'deferred')
  await pass(2 * hour)
  await relay.restart()
  expect(await relay.relay.services.db.read('select * from outage')).toEqual([])
  await pass(5 * minute)
  await relay.relay.stop()
  relay.clock.advance(31 * minute)
  await relay.restart()
  expect(await relay.relay.services.db.read('select missed_ms from outage')).toEqual([{ missed_ms: 31 * minute }])
  expect(await faults()).toEqual([])
})

/** Queues ordinary and scheduled mail that could not be delivered yet; answers the ids. */
async function queueUp({ relay, becomes }: Awaited<ReturnType<typeof start>>): Promise<string[]> {
  const ids: string[] = []
  for (let number = 0; number < 3; number++) ids.push(await relay.send(`waiting${number}@rcpt.example`))
  for (const id of ids) await becomes(id, 'deferred')
  const date = new Date(relay.clock.now() + hour).toISOString()
  for (let number = 0; number < 2; number++) ids.push(await relay.send(`date${number}@rcpt.example`, { scheduled_at: date }))
  return ids
}

const unreachable = (life: Awaited<ReturnType<typeof start>>) => Object.assign(life.relay.dns.zone, { 'rcpt.example': 'servfail' })
const reachable = (life: Awaited<ReturnType<typeof start>>) => Object.assign(life.relay.dns.zone, zone)

/** How the server loses 60 hours. */
const outages: [string, (life: Awaited<ReturnType<typeof start>>) => Promise<void>][] = [
  [
    'the server is off',
    async ({ relay }) => {
      await relay.relay.stop()
      relay.clock.advance(60 * hour)
      await relay.restart()
    },
  ],
  [
    'the clock jumps',
    async ({ relay }) => {
      relay.clock.correct(60 * hour)
    },
  ],
]

for (const [name, outage] of outages) {
  test(`where ${name} for longer than mail is tried, and name servers answer late, nothing bounces`, async () => {
    const life = await start()
    const { mx, relay, becomes, pass, passUntil, tried, faults, isSettled } = life
    unreachable(life)
    const ids = await queueUp(life)
    await outage(life)
    await expect.poll(faults).toEqual(['outage'])
    await isSettled()
    // Longer than an hour: nobody can be reached at all.
    await pass(2 * hour)
    for (const id of ids) await becomes(id, 'deferred')
    expect(await faults()).toEqual(['outage'])
    reachable(life)
    // A host that greylists is the first to answer.
    mx.on = { rcpt: () => '450 4.2.0 Greylisted, come back in five minutes' }
    await passUntil(() => tried().length > 0)
    await pass(20 * minute)
    for (const id of ids) await becomes(id, 'deferred')
    mx.on = {}
    await pass(20 * minute)
    for (const id of ids) {
      await becomes(id, 'delivered')
      expect(await relay.events(id)).not.toContain('email.bounced')
    }
    expect(mx.messages).toHaveLength(ids.length)
    await pass(hour)
    expect(await faults()).toEqual([])
  })
}

test('a server that is stopped soon after an outage still gives mail its hour', async () => {
  const life = await start()
  const { mx, relay, becomes, pass, passUntil, faults, isSettled } = life
  unreachable(life)
  const ids = await queueUp(life)
  await relay.relay.stop()
  relay.clock.advance(60 * hour)
  await relay.restart()
  await isSettled()
  await pass(5 * minute)
  await relay.restart()
  await isSettled()
  expect(await faults()).toEqual(['outage'])
  await pass(10 * minute)
  for (const id of ids) await becomes(id, 'deferred')
  reachable(life)
  await passUntil(() => mx.messages.length > 0)
  await pass(20 * minute)
  for (const id of ids) await becomes(id, 'delivered')
})

test('a clock that jumps ahead and back, again and again, takes no time from mail', async () => {
  const life = await start()
  const { mx, relay, becomes, pass, faults } = life
  mx.on = { rcpt: () => '451 4.7.1 Later' }
  const ids = await queueUp(life)
  for (let times = 0; times < 3; times++) {
    relay.clock.correct(240 * hour)
    await expect.poll(faults).toEqual(['outage'])
    await pass(10 * minute)
    relay.clock.correct(-240 * hour)
    await expect.poll(faults).toEqual([])
    await pass(10 * minute)
  }
  await pass(hour)
  for (const id of ids) await becomes(id, 'deferred')
  relay.clock.advance(39 * hour)
  await pass(minute)
  for (const id of ids) await becomes(id, 'deferred')
  mx.on = {}
  relay.clock.advance(7 * hour)
  for (const id of ids) await becomes(id, 'delivered')
})

test('where nobody answers after an outage, mail is given up in the end, as new mail would be', async () => {
  const life = await start()
  const { relay, becomes, bounceOf, pass, isSettled } = life
  unreachable(life)
  const id = await relay.send('ann@rcpt.example')
  await becomes(id, 'deferred')
  await relay.relay.stop()
  relay.clock.advance(60 * hour)
  await relay.restart()
  await isSettled()
  relay.clock.advance(47 * hour)
  await pass(minute)
  await becomes(id, 'deferred')
  relay.clock.advance(hour)
  await becomes(id, 'bounced')
  expect(await bounceOf(id)).toMatchObject({ bounce_category: 'expired', reason: expect.stringContaining('4.4.3 ') })
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
