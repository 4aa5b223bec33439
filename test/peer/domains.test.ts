import { dkimVerify } from 'mailauth/lib/dkim/verify.js'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { dnsResolver, type DnsResolver } from '../../src/platform/dns/dns-resolver.ts'
import { startFakeMx, type FakeMx, type MxMessage } from '../support/fake-mx.ts'
import { startKnot, type KnotServer, type ZoneLine } from '../support/knot-server.ts'
import { startTestRelay, type TestRelay } from '../support/start-relay.ts'

/** A whole relay that looks everything up at a real name server, whose zones are changed meanwhile. */
const mxHost = '127.0.9.1'
const hour = 3_600_000
const day = 24 * hour
let knot: KnotServer
let mx: FakeMx
let relay: TestRelay
let resolver: DnsResolver

beforeAll(async () => {
  knot = await startKnot(['zone.example', 'shop.example', 'busy.example', 'rcpt.example'])
  await knot.serve('rcpt.example', ['@ MX 10 mx', `mx A ${mxHost}`])
  mx = await startFakeMx({ host: mxHost })
  relay = await startTestRelay({ dns_servers: knot.server, delivery_port: String(mx.port) })
  resolver = dnsResolver({ servers: [knot.server] })
}, 180_000)

afterAll(async () => {
  resolver.close()
  await relay.stop()
  await mx.close()
  await knot.stop()
})

interface DomainRecord {
  record: string
  name: string
  type: string
  value: string
  priority?: number
  status: string
  found: string | null
  keep_until: string | null
}

/** The records as lines of the zone file, strings cut as DNS has it. */
const zoneLines = (records: DomainRecord[]): ZoneLine[] =>
  records.map(({ name, type, value, priority }) => {
    const strings = (value.match(/.{1,255}/g) ?? []).map((part) => `"${part}"`)
    return type === 'MX' ? `${name}. MX ${priority} ${value}.` : `${name}. TXT ${strings.join(' ')}`
  })

async function domainOf(name: string): Promise<{ id: string; status: string; records: DomainRecord[] }> {
  const { status, body } = await relay.call('GET', `/api/domains/${name}`)
  expect(status).toBe(200)
  return body
}

/** Asks for a check, and waits until it is over. */
async function verify(name: string): Promise<{ status: string; records: DomainRecord[] }> {
  relay.clock.advance(10_000)
  const now = new Date(relay.clock.now()).toISOString()
  expect((await relay.call('POST', `/api/domains/${name}/verify`)).status).toBe(200)
  await expect.poll(async () => (await relay.call('GET', `/api/domains/${name}`)).body.checked_at).toBe(now)
  return domainOf(name)
}

const recheckAfter = (ms: number): Promise<number> => {
  relay.clock.advance(ms)
  return relay.relay.services.sendingDomains.recheckDue()
}

const sendFrom = (name: string) =>
  relay.call('POST', '/api/send', { from: `app@${name}`, to: 'ann@rcpt.example', subject: 'Hello', text: 'Hello' })

test('the zone file is read by a name server as it is', async () => {
  await relay.call('POST', '/api/domains', { name: 'zone.example' })
  const response = await fetch(`${relay.baseUrl}/api/domains/zone.example/zone`, { headers: { authorization: `Bearer ${relay.token}` } })
  await knot.serve('zone.example', [await response.text()])
  const verified = await verify('zone.example')
  expect(verified.records.map(({ status }) => status)).toEqual(verified.records.map(() => 'verified'))
})

test('records that are published, changed, lost and published again', async () => {
  const { body: added } = await relay.call('POST', '/api/domains', { name: 'shop.example' })
  const lines = zoneLines(added.records)
  expect((await verify('shop.example')).status).toBe('pending')
  expect((await sendFrom('shop.example')).body).toMatchObject({ statusCode: 403, name: 'domain_not_verified' })
  await knot.serve(
    'shop.example',
    lines.filter((line) => !line.startsWith('_dmarc')),
  )
  const verified = await verify('shop.example')
  expect(verified.status).toBe('verified')
  expect(verified.records.map(({ record, status }) => `${record} ${status}`)).toEqual([
    'DKIM verified',
    'DKIM verified',
    'SPF verified',
    'SPF verified',
    'DMARC pending',
  ])
  expect((await sendFrom('shop.example')).status).toBe(200)

  // Changed: what is there instead is shown beside what should be.
  await knot.serve(
    'shop.example',
    lines.map((line) => line.replace('a:relay.example', 'ip4:192.0.2.1')),
  )
  const changed = await verify('shop.example')
  expect(changed.status).toBe('verified')
  expect(changed.records.find(({ type, name }) => type === 'TXT' && name === 'send.shop.example')).toMatchObject({
    status: 'temporary_failure',
    value: 'v=spf1 a:relay.example ~all',
    found: 'v=spf1 ip4:192.0.2.1 ~all',
  })
  await knot.serve('shop.example', lines)
  expect((await verify('shop.example')).records.map(({ status }) => status)).toEqual(Array(5).fill('verified'))

  // Lost: mail goes on for three days.
  await knot.serve('shop.example', [])
  expect(await recheckAfter(6 * hour)).toBeGreaterThan(0)
  const lost = await domainOf('shop.example')
  expect(lost.records.slice(0, 4).map(({ status }) => status)).toEqual(Array(4).fill('temporary_failure'))
  expect((await sendFrom('shop.example')).status).toBe(200)
  await recheckAfter(71 * hour)
  expect((await domainOf('shop.example')).status).toBe('verified')
  await recheckAfter(6 * hour)
  expect((await domainOf('shop.example')).status).toBe('failed')
  expect((await sendFrom('shop.example')).body.name).toBe('domain_not_verified')

  // Back: whoever publishes again asks again.
  await knot.serve('shop.example', lines)
  await recheckAfter(6 * hour)
  expect((await domainOf('shop.example')).status).toBe('failed')
  expect((await verify('shop.example')).status).toBe('verified')
  expect((await sendFrom('shop.example')).status).toBe(200)
})

/** What a receiver finds when it verifies a message at the moment it gets it. */
interface Verdict {
  selectors: string[]
  results: string[]
}

async function verdictOn({ data }: MxMessage): Promise<Verdict> {
  const { results } = await dkimVerify(data, {
    resolver: async (name: string) => (await resolver.txt(name)).records.map((record) => [record]),
  })
  return {
    selectors: results.map(({ selector }) => selector ?? ''),
    results: results.map(({ algo, status }) => `${algo} ${status.result}`).toSorted(),
  }
}

test('new DKIM keys under load: every message verifies at the moment of its delivery', async () => {
  const { body: added } = await relay.call('POST', '/api/domains', { name: 'busy.example' })
  const [oldRsa = ''] = added.records.map(({ name }: DomainRecord) => name.split('.')[0])
  await knot.serve('busy.example', zoneLines(added.records))
  expect((await verify('busy.example')).status).toBe('verified')

  const verdicts: Promise<Verdict>[] = []
  mx.on.dot = (message) => {
    if (message.mailFrom.endsWith('busy.example')) verdicts.push(verdictOn(message))
    return undefined
  }
  let isOver = false
  const refusals: unknown[] = []
  const load = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      const { status, body } = await sendFrom('busy.example')
      if (status !== 200) refusals.push(body)
    }
  })
  onTestFinished(async () => {
    isOver = true
    await Promise.all(load)
  })
  const more = async (count: number): Promise<void> => {
    const target = verdicts.length + count
    await expect.poll(() => verdicts.length).toBeGreaterThanOrEqual(target)
  }
  const lastSelectors = async (): Promise<string[]> => (await verdicts.at(-1))?.selectors ?? []

  await more(50)
  const { body: rotated } = await relay.call('POST', '/api/domains/busy.example/dkim/rotate', { dkim_selector: 's2027' })
  await more(50)
  // Nobody has published them yet, and a check changes nothing.
  await recheckAfter(120_000)
  await more(50)
  expect(await lastSelectors()).toContain(oldRsa)
  await knot.serve('busy.example', zoneLines(rotated.records))
  await more(50)
  await recheckAfter(120_000)
  await more(50)
  await expect.poll(lastSelectors).toEqual(['s2027', 's2027-ed25519'])
  const kept = (await domainOf('busy.example')).records.filter(({ keep_until }) => keep_until !== null)
  expect(kept.map(({ name }) => name.split('.')[0])).toContain(oldRsa)

  // When their time is over the old keys go, and then their records.
  relay.clock.advance(9 * day)
  await relay.relay.services.sendingDomains.forgetOld()
  const { records } = await domainOf('busy.example')
  expect(records.some(({ name }) => name.startsWith(oldRsa))).toBe(false)
  await knot.serve('busy.example', zoneLines(records))
  await more(50)
  isOver = true
  await Promise.all(load)

  expect(refusals).toEqual([])
  const all = await Promise.all(verdicts)
  expect(all.filter(({ results }) => results.join() !== 'ed25519-sha256 pass,rsa-sha256 pass')).toEqual([])
  const bySelectors = Map.groupBy(all, ({ selectors }) => selectors.toSorted().join())
  expect([...bySelectors.values()].map((group) => group.length >= 50)).toEqual([true, true])
})
