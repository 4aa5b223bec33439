import { expect, onTestFinished, test } from 'vitest'
import { dnsResolver, type DnsResolver } from '../../../src/platform/dns/dns-resolver.ts'
import { startFakeDns, type FakeDns, type FakeZone } from '../../support/fake-dns.ts'

const probe = { name: '', type: 'NS' as const }
const root = { ns: ['a.root.test'], secure: true }

async function started(zones: FakeZone[], dnssecProbe: typeof probe | null = probe) {
  let now = 0
  const servers: FakeDns[] = []
  for (const zone of zones) servers.push(await startFakeDns(zone))
  const lost: string[][] = []
  const resolver: DnsResolver = dnsResolver({
    servers: servers.map(({ server }) => server),
    dnssecProbe,
    noteUnvalidated: (each) => void lost.push(each),
    now: () => now,
  })
  onTestFinished(async () => {
    resolver.close()
    await Promise.all(servers.map((each) => each.close()))
  })
  const probes = () => servers.map(({ queries }) => queries.filter(({ name }) => name === '' || name === '.').length)
  return { resolver, servers, zones, probes, lost, pass: (ms: number) => void (now += ms) }
}

test('an answer is secure with the AD bit of a server that proves to validate, and then so is that it is not', async () => {
  const { resolver } = await started([
    {
      '.': root,
      'signed.test': { a: ['192.0.2.1'], secure: true },
      'unsigned.test': { a: ['192.0.2.1'] },
      'alias.test': { cname: 'signed.test', secure: true },
      'mixed.test': { cname: 'unsigned.test', secure: true },
    },
  ])
  expect(await resolver.a('signed.test')).toMatchObject({ secure: true, isValidated: true })
  expect(await resolver.a('unsigned.test')).toMatchObject({ secure: false, isValidated: true })
  expect(await resolver.mx('signed.test')).toMatchObject({ status: 'nodata', secure: true })
  expect(await resolver.a('alias.test')).toMatchObject({ records: ['192.0.2.1'], secure: true, expandedName: 'signed.test' })
  expect(await resolver.a('mixed.test')).toMatchObject({ secure: false, isValidated: true, expandedName: 'unsigned.test' })
  expect(await resolver.cname('mixed.test')).toMatchObject({ records: ['unsigned.test'], secure: true })
})

test.each<[string, FakeZone, typeof probe | null]>([
  ['does not validate the probe', { '.': { ns: ['a.root.test'] } }, probe],
  ['does not answer the probe', { '.': 'servfail' }, probe],
  ['is not asked', { '.': root }, null],
])('the AD bit of a server that %s counts for nothing', async (_, zone, dnssecProbe) => {
  const { resolver } = await started([{ ...zone, 'signed.test': { a: ['192.0.2.1'], secure: true } }], dnssecProbe)
  const answer = await resolver.a('signed.test')
  expect(answer).toMatchObject({ records: ['192.0.2.1'], secure: false })
  expect(answer.isValidated).toBeUndefined()
})

test('it is proved at the first look-up, and again after an hour; after a minute, if a server did not prove it', async () => {
  const { resolver, servers, probes, pass } = await started([{ '.': root, 'signed.test': { a: ['192.0.2.1'], secure: true } }])
  expect(probes()).toEqual([0])
  await Promise.all([resolver.a('signed.test'), resolver.aaaa('signed.test')])
  expect(probes()).toEqual([1])
  pass(3_599_999)
  expect(await resolver.a('signed.test')).toMatchObject({ secure: true })
  expect(probes()).toEqual([1])
  if (servers[0]) servers[0].zone['.'] = { ns: ['a.root.test'] }
  pass(1)
  const late = await resolver.a('signed.test')
  expect([late.secure, late.isValidated]).toEqual([false, undefined])
  expect(probes()).toEqual([2])
  if (servers[0]) servers[0].zone['.'] = root
  pass(60_000)
  expect(await resolver.a('signed.test')).toMatchObject({ secure: true })
  expect(probes()).toEqual([3])
})

test('a server that does not answer the probe is believed as before', async () => {
  const { resolver, servers, pass } = await started([{ '.': root, 'signed.test': { a: ['192.0.2.1'], secure: true } }])
  await resolver.a('signed.test')
  if (servers[0]) servers[0].zone['.'] = 'servfail'
  pass(3_600_000)
  expect(await resolver.a('signed.test')).toMatchObject({ secure: true })
  expect(await resolver.stillValidates()).toBe(false)
})

test('of several servers, the answer of each counts as far as that one is believed', async () => {
  const signed = { a: ['192.0.2.1'], secure: true }
  const { resolver, servers } = await started([
    { '.': root, 'signed.test': signed },
    { '.': { ns: ['a.root.test'] }, 'signed.test': signed, 'other.test': signed },
  ])
  expect(await resolver.a('signed.test')).toMatchObject({ secure: true })
  if (servers[0]) servers[0].zone['other.test'] = 'servfail'
  expect(await resolver.a('other.test')).toMatchObject({ records: ['192.0.2.1'], secure: false })
  expect(await Promise.all(resolver.eachServer.map(async ({ a }) => (await a('signed.test')).secure))).toEqual([true, false])
})

test('whether they still validate is asked at once, and what they vouched for stays secure', async () => {
  const { resolver, servers, probes } = await started([{ '.': root, 'signed.test': { a: ['192.0.2.1'], secure: true, ttl: 3600 } }])
  await resolver.a('signed.test')
  expect(await resolver.stillValidates()).toBe(true)
  expect(probes()).toEqual([2])
  if (servers[0]) servers[0].zone['.'] = { ns: ['a.root.test'] }
  expect(await Promise.all([resolver.stillValidates(), resolver.stillValidates()])).toEqual([false, false])
  expect(probes()).toEqual([3])
  expect(await resolver.stillValidates()).toBe(false)
  expect(await resolver.a('signed.test')).toMatchObject({ secure: true, isKept: true })
})

test('it tells of the servers that have stopped validating, until they validate again, and never of one that never did', async () => {
  const unsigned = { ns: ['a.root.test'] }
  const { resolver, servers, lost } = await started([{ '.': unsigned }, { '.': unsigned }])
  const proveWith = async (first: FakeZone[string]) => {
    if (servers[0]) servers[0].zone['.'] = first
    await resolver.stillValidates()
    return lost.at(-1)?.length
  }
  expect(await proveWith(unsigned)).toBeUndefined()
  expect(await proveWith(root)).toBe(0)
  expect(await proveWith('servfail')).toBe(0)
  expect(await proveWith(unsigned)).toBe(1)
  expect(lost.at(-1)).toEqual([servers[0]?.server.replace(/:\d+$/, '')])
  expect(await proveWith('servfail')).toBe(1)
  expect(await proveWith(root)).toBe(0)
})

test.each<[string, FakeZone[string]]>([
  ['did not answer the probe', 'servfail'],
  ['did not validate the probe', { ns: ['a.root.test'] }],
])('once a server that %s validates, what was cached before is asked for again, and what it vouched for is not', async (_, at) => {
  const signed = { a: ['192.0.2.1'], secure: true, ttl: 86_400 }
  const { resolver, servers, pass } = await started([{ '.': root, 'early.test': signed, 'signed.test': signed }])
  const [server] = servers
  expect(await resolver.a('early.test')).toMatchObject({ secure: true })
  if (server) server.zone['.'] = { ns: ['a.root.test'] }
  await resolver.stillValidates()
  if (server) server.zone['.'] = at
  pass(60_000)
  expect(await resolver.a('signed.test')).toMatchObject({ secure: false })
  if (server) server.zone['.'] = root
  pass(59_999)
  expect(await resolver.a('signed.test')).toMatchObject({ secure: false, isKept: true })
  pass(1)
  await expect.poll(async () => (await resolver.a('signed.test')).secure).toBe(true)
  expect(await resolver.a('signed.test')).toMatchObject({ secure: true, isKept: true })
  expect(await resolver.a('early.test')).toMatchObject({ secure: true, isKept: true })
})

test('reads TLSA records', async () => {
  const tlsa: [number, number, number, string] = [3, 1, 1, 'ab'.repeat(32)]
  const { resolver } = await started([{ '.': root, '_25._tcp.mx.test': { tlsa: [tlsa], secure: true, ttl: 60 } }])
  const expected = { records: [{ usage: 3, selector: 1, matchingType: 1, data: Buffer.alloc(32, 0xab) }], secure: true }
  expect(await resolver.tlsa('_25._tcp.mx.test')).toMatchObject(expected)
  expect(await resolver.tlsa('_25._tcp.mx.test')).toMatchObject({ ...expected, isKept: true })
})
