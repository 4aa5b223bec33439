import { expect, test } from 'vitest'
import { unconnectedAttempt, type Attempt } from '../../../src/mail-out/delivery/attempt.ts'
import { deferral, hostOutcomeOf } from '../../../src/mail-out/delivery/outcome.ts'
import { ProviderStops, stopKeptMs, type ProviderStop } from '../../../src/mail-out/delivery/provider-stops.ts'

const minute = 60_000
const mx = [{ preference: 0, exchange: 'aspmx.l.google.com' }]
const hosts = [{ name: 'aspmx.l.google.com', address: '192.0.2.9', port: 25 }]
const key = 'provider:google from 192.0.2.1'

const said = (code: number, enhancedStatus: string, text: string): Attempt => ({
  ...unconnectedAttempt('rcp_1', hostOutcomeOf('dot', { code, enhancedStatus, text: `${enhancedStatus} ${text}` }).outcome),
  mxHost: 'aspmx.l.google.com',
  sourceAddress: '192.0.2.1',
})
const accepted = said(250, '2.0.0', 'OK')
const busy = said(421, '4.7.0', 'Too many messages from you')
const blocked = said(421, '4.7.28', 'Mail to bob@rcpt.example: an unusual rate of unsolicited mail originating from your IP address')
const silent = { ...accepted, outcome: deferral('timeout', 'connection timed out').outcome }

type Noted = { isProbe?: boolean; destination?: string; messageId?: string; records?: typeof mx }

/** A thread's, with what it tells, and the time. */
function start() {
  const told: ProviderStop[] = []
  const stops = new ProviderStops({ tell: (stop) => told.push(stop), random: () => 0 })
  const state = { now: Date.UTC(2026, 10, 21) }
  let messages = 0
  const job = (isProbe = false, destination = 'rcpt.example', messageId = `msg_${++messages}`) => ({
    messageId,
    destination,
    isProbe,
    at: state.now,
  })
  const source = { address: '192.0.2.1', ehloName: null }
  const from = hosts.map((host) => ({ ...host, source }))
  return {
    stops,
    told,
    state,
    note: (attempt: Attempt, { isProbe = false, destination, messageId, records = mx }: Noted = {}) =>
      stops.note(attempt, job(isProbe, destination, messageId), records),
    /** ms until one message may try again; null if mail flows. */
    wait: (destination = 'rcpt.example', isProbe = false) => {
      const allowed = stops.allowed(from, job(isProbe, destination), mx)
      return 'key' in allowed ? allowed.forMs : null
    },
  }
}

test('a reply about our address stops all mail to the provider, whatever the domain, and one message tries again later', () => {
  const { note, wait, told, state } = start()
  const until = state.now + 10 * minute
  const reason = '421 4.7.28 Mail to … an unusual rate of unsolicited mail originating from your IP address'
  expect(note(blocked)).toEqual({ key, forMs: 10 * minute, reason })
  expect(told).toEqual([{ key, until, step: 0, reason }])
  expect([wait(), wait('other.example')]).toEqual([10 * minute, 10 * minute])
  state.now = until
  expect([wait(), wait('other.example'), wait('other.example', true)]).toEqual([0, 0, null])
})

test('what was under way when it began neither ends nor prolongs it', () => {
  const { note, told, state } = start()
  note(blocked)
  state.now += minute
  for (const each of [accepted, blocked, busy, silent]) expect(note(each)).toMatchObject({ key, forMs: 9 * minute })
  expect(told).toHaveLength(1)
})

test('each refusal of the message that tries again doubles it, and an answer to it ends it', () => {
  const { note, wait, told, state } = start()
  for (let i = 0; i < 3; i++) note(busy)
  const waits = [wait()]
  for (let i = 0; i < 6; i++) {
    state.now += wait() ?? 0
    note(busy, { isProbe: true })
    waits.push(wait())
  }
  expect(waits.map((ms) => (ms ?? 0) / minute)).toEqual([10, 20, 40, 80, 160, 240, 240])
  state.now += wait() ?? 0
  expect(note(silent, { isProbe: true })).toMatchObject({ key, forMs: minute })
  expect(note(said(550, '5.1.1', 'No such user'), { isProbe: true })).toBe(undefined)
  expect([wait(), told.at(-1)?.until]).toEqual([null, null])
})

test('a refusal of the message that tries again prolongs it for as long as the reply says, or as the provider wants a pause', () => {
  const { note, wait, state } = start()
  note(blocked)
  const halfAnHour = said(421, '4.7.0', 'Too many messages from you, try again in 30 minutes')
  const waits = [blocked, blocked, halfAnHour, halfAnHour, busy].map((each) => {
    state.now += wait() ?? 0
    note(each, { isProbe: true })
    return (wait() ?? 0) / minute
  })
  expect(waits).toEqual([10, 10, 30, 30, 240])
})

test('replies that only slow us down stop mail when three come in a row', () => {
  const { note } = start()
  expect([busy, busy, accepted, busy, busy].map((each) => note(each))).toEqual(Array.from({ length: 5 }))
  expect(note(busy)).toMatchObject({ key, forMs: 10 * minute })
})

test('several recipients of one message are no row, nor are refusals over more than an hour', () => {
  const { note, state } = start()
  for (let i = 0; i < 9; i++) expect(note(busy, { messageId: 'msg_of_many' })).toBe(undefined)
  expect(note(busy)).toBe(undefined)
  state.now += 60 * minute
  expect([note(busy), note(busy)]).toEqual([undefined, undefined])
  expect(note(busy)).toMatchObject({ key, forMs: 10 * minute })
})

test('other addresses of ours, and other providers, go on', () => {
  const { stops, note, state } = start()
  note(blocked)
  const job = { messageId: 'msg', destination: 'rcpt.example', isProbe: false, at: state.now }
  const from = (address: string) => ({ ...hosts[0]!, source: { address, ehloName: null } })
  const [refused, other] = [from('192.0.2.1'), from('192.0.2.2')]
  expect(stops.allowed([refused, other], job, mx)).toEqual([other])
  expect(stops.allowed([refused], job, [{ preference: 0, exchange: 'mx.rcpt.example' }])).toEqual([refused])
  expect(['192.0.2.1', '192.0.2.2'].map((each) => stops.restingSources(job, mx)?.(each))).toEqual([true, false])
})

test('a family of addresses goes on while the other is refused, if this machine has it', () => {
  const both = ['192.0.2.9', '2001:db8::9'].map((address) => ({ name: 'aspmx.l.google.com', address, port: 25 }))
  const stopped = (families: number[], refused: string) => {
    const stops = new ProviderStops({ tell: () => {}, random: () => 0, families })
    const job = { messageId: 'msg', destination: 'rcpt.example', isProbe: false, at: 0 }
    stops.note({ ...blocked, address: refused, sourceAddress: null }, job, mx)
    return stops.allowed(both, job, mx)
  }
  const [four, six] = both
  expect([stopped([4, 6], '2001:db8::9'), stopped([4, 6], '192.0.2.9'), stopped([4], '2001:db8::9')]).toEqual([[four], [six], [four]])
  expect(stopped([4], '192.0.2.9')).toMatchObject({ key: 'provider:google from any IPv4 address' })
})

test('what another has found holds here too, until it says that mail flows, or for a day', () => {
  const { stops, wait, state, told } = start()
  const stop = { key, until: state.now + 30 * minute, step: 2, reason: 'no' }
  stops.learn(stop)
  expect(wait()).toBe(30 * minute)
  stops.learn({ ...stop, until: null })
  expect([wait(), stops.careful.isOver]).toEqual([null, false])
  stops.learn(stop)
  state.now += 2 * stopKeptMs
  expect([wait(), told]).toEqual([null, [{ ...stop, until: null }]])
})

test('where mail for a destination may go several ways, one job tries again, and the queue is not asked which', () => {
  const { stops, note, told, state } = start()
  const from = hosts.map((host) => ({ ...host, source: { address: '192.0.2.1', ehloName: null } }))
  const choices = { usual: { via: null, routeId: null }, byProvider: [], isOfSome: true }
  const job = () => ({ messageId: 'msg', destination: 'rcpt.example', isProbe: false, at: state.now, choices })
  note(blocked)
  expect(stops.allowed(from, job(), mx)).toMatchObject({ key, forMs: 10 * minute })
  state.now += 10 * minute
  const [first, second] = [job(), job()]
  expect(stops.allowed(from, first, mx)).toEqual(from)
  expect(stops.allowed(from, second, mx)).toMatchObject({ key, forMs: minute })
  expect(stops.note(blocked, first, mx)).toMatchObject({ key, forMs: 10 * minute })
  state.now += 10 * minute
  const third = job()
  expect(stops.allowed(from, third, mx)).toEqual(from)
  expect(stops.note(accepted, third, mx)).toBeUndefined()
  expect(told.at(-1)).toMatchObject({ key, until: null })
  expect(stops.allowed(from, job(), mx)).toEqual(from)
})

test('a host that a domain names beside those of a provider neither stops mail to the provider nor ends a stop', () => {
  const { note, told, state } = start()
  const beside = [...mx, { preference: 5, exchange: 'mx.evil.example' }]
  const evil = { destination: 'evil.example', records: beside }
  const from = (attempt: Attempt): Attempt => ({ ...attempt, mxHost: 'mx.evil.example' })
  for (let i = 0; i < 3; i++) expect(note(from(blocked), evil)).toBe(undefined)
  note(blocked)
  state.now += 10 * minute
  expect(note(from(accepted), { ...evil, isProbe: true })).toMatchObject({ key, forMs: minute })
  expect(told).toHaveLength(1)
})

test('the words of one domain behind a provider do not stop mail to the others; those of two do', () => {
  const { note } = start()
  const worded = said(550, '5.7.1', 'Too many messages from you, try again in 4 hours')
  for (let i = 0; i < 9; i++) expect(note(worded)).toBe(undefined)
  expect(note(worded, { destination: 'other.example' })).toMatchObject({ key, forMs: 240 * minute })
})

test('an address whose stop is over is tried again by one job, though others of ours would do', () => {
  const { stops, told, state } = start()
  const [a, b] = ['192.0.2.1', '192.0.2.2'] as const
  const jobNow = () => ({ messageId: 'msg', destination: 'rcpt.example', isProbe: false, at: state.now })
  const by = (address: string) => [{ ...hosts[0]!, source: { address, ehloName: null } }]
  const resting = () => [a, b].map((each) => stops.restingSources(jobNow(), mx)?.(each) ?? false)
  stops.note(blocked, jobNow(), mx)
  expect(resting()).toEqual([true, false])
  state.now += 10 * minute
  stops.learn({ key: `provider:google from ${b}`, until: state.now + minute, step: 0, reason: 'no' })
  expect(resting()).toEqual([false, true])
  stops.learn({ key: `provider:google from ${b}`, until: null, step: 0, reason: '' })
  const probe = jobNow()
  expect(stops.allowed([...by(a), ...by(b)], probe, mx)).toEqual(by(a))
  expect([resting(), stops.allowed([...by(a), ...by(b)], jobNow(), mx)]).toEqual([[true, false], by(b)])
  stops.note(accepted, probe, mx)
  expect([resting(), told.at(-1)?.until]).toEqual([[false, false], null])
})
