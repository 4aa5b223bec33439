import { randomBytes } from 'node:crypto'
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { decode, encode, type Packet } from 'dns-packet'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { type DnsResolver, type DnsResolverOptions, dnsResolver } from '../../../src/platform/dns/dns-resolver.ts'
import { type FakeDns, type FakeZone, startFakeDns } from '../../support/fake-dns.ts'
import { cases } from '../../support/cases.ts'

async function startZone(zone: FakeZone): Promise<FakeDns> {
  const dns = await startFakeDns(zone)
  onTestFinished(() => dns.close())
  return dns
}

function resolverFor(options: DnsResolverOptions): DnsResolver {
  const resolver = dnsResolver(options)
  onTestFinished(() => resolver.close())
  return resolver
}

async function resolverOver(zone: FakeZone, more: Partial<DnsResolverOptions> = {}) {
  const dns = await startZone(zone)
  return { dns, resolver: resolverFor({ servers: [dns.server], ...more }) }
}

/** A server that may answer anything, several times. */
async function startRawServer(handle: (query: Buffer, send: (reply: Buffer) => void) => void): Promise<string> {
  const socket: Socket = createSocket('udp4')
  socket.on('message', (query: Buffer, from: RemoteInfo) => handle(query, (reply) => socket.send(reply, from.port, from.address)))
  await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done))
  onTestFinished(() => void socket.close())
  return `127.0.0.1:${socket.address().port}`
}

const reply = (query: Buffer, more: Packet): Buffer => {
  const { id, questions } = decode(query)
  return encode({ type: 'response', flags: 1 << 7, ...(id === undefined ? {} : { id }), ...(questions ? { questions } : {}), ...more })
}
const aRecord = (name: string, data: string) => ({ type: 'A' as const, name, ttl: 0, class: 'IN' as const, data })

test('returns each record type with its TTL and without trailing dots', async () => {
  const { resolver } = await resolverOver({
    'example.test': {
      mx: [
        [10, 'MX1.example.test'],
        [20, 'mx2.example.test'],
      ],
      a: ['192.0.2.1', '192.0.2.2'],
      aaaa: ['2001:db8::1'],
      txt: ['short', 'x'.repeat(600)],
      ns: ['ns.example.test'],
      ttl: 300,
      secure: true,
    },
    'alias.example.test': { cname: 'example.test' },
    'nullmx.test': { mx: [[0, '.']] },
  })
  expect(await resolver.mx('Example.TEST.')).toEqual({
    status: 'ok',
    records: [
      { preference: 10, exchange: 'mx1.example.test' },
      { preference: 20, exchange: 'mx2.example.test' },
    ],
    ttl: 300,
    secure: false,
  })
  expect((await resolver.a('example.test')).records).toEqual(['192.0.2.1', '192.0.2.2'])
  expect((await resolver.aaaa('example.test')).records).toEqual(['2001:db8::1'])
  expect((await resolver.txt('example.test')).records).toEqual(['short', 'x'.repeat(600)])
  expect((await resolver.ns('example.test')).records).toEqual(['ns.example.test'])
  expect(await resolver.cname('alias.example.test')).toMatchObject({ records: ['example.test'], secure: false })
  expect((await resolver.mx('nullmx.test')).records).toEqual([{ preference: 0, exchange: '' }])
})

test('distinguishes no such name, no such record, and a server that cannot tell', async () => {
  const { resolver } = await resolverOver({ 'host.below.test': { a: ['192.0.2.1'] }, 'broken.test': 'servfail' })
  expect((await resolver.mx('nobody.test')).status).toBe('nxdomain')
  expect((await resolver.mx('host.below.test')).status).toBe('nodata')
  expect((await resolver.mx('below.test')).status).toBe('nodata')
  expect((await resolver.mx('broken.test')).status).toBe('servfail')
})

test.each(['', '.', 'a..b', '.a', 'sp ace.test', 'ünicode.test', 'nul\0.test', `${'x'.repeat(64)}.test`, `${'abcdefg.'.repeat(32)}test`])(
  'an invalid name does not exist, and nobody is asked: %j',
  async (name) => {
    const { dns, resolver } = await resolverOver({})
    expect((await resolver.a(name)).status).toBe('nxdomain')
    expect(dns.queries).toEqual([])
  },
)

test('fetches answers too long for UDP over TCP, even 1000 MX hosts', async () => {
  const mx = Array.from({ length: 1000 }, (_, i): [number, string] => [i, `mx${i}.test`])
  const { dns, resolver } = await resolverOver({ 'many.test': { mx, ttl: 60 } })
  const { records } = await resolver.mx('many.test')
  expect(records).toHaveLength(1000)
  expect(records[999]).toEqual({ preference: 999, exchange: 'mx999.test' })
  expect(dns.queries.map(({ over }) => over)).toEqual(['udp', 'tcp'])
})

test('reads a TXT record of 60 KB whole', async () => {
  const text = 'v=spf1 '.repeat(8_500)
  const { resolver } = await resolverOver({ 'huge.test': { txt: [text] } })
  expect(await resolver.txt('huge.test')).toMatchObject({ status: 'ok', records: [text] })
})

test('follows aliases within an answer and with another query, but not for ever', async () => {
  const chain = (length: number): FakeZone =>
    Object.fromEntries(
      Array.from({ length }, (_, i) => [`c${length}-${i}.test`, { cname: i + 1 < length ? `c${length}-${i + 1}.test` : 'end.test' }]),
    )
  const { resolver } = await resolverOver({
    'end.test': { a: ['192.0.2.9'] },
    ...chain(8),
    ...chain(9),
    'loop-a.test': { cname: 'loop-b.test' },
    'loop-b.test': { cname: 'loop-a.test' },
    'dangling.test': { cname: 'gone.test' },
    'typeless.test': { cname: 'end.test' },
  })
  expect((await resolver.a('c8-0.test')).records).toEqual(['192.0.2.9'])
  expect((await resolver.a('c9-0.test')).status).toBe('servfail')
  expect((await resolver.a('loop-a.test')).status).toBe('servfail')
  expect((await resolver.a('dangling.test')).status).toBe('nxdomain')
  expect((await resolver.mx('typeless.test')).status).toBe('nodata')

  const server = await startRawServer((query, send) => {
    const name = decode(query).questions?.[0]?.name ?? ''
    send(
      reply(query, { answers: name === 'far.test' ? [{ type: 'CNAME', name, ttl: 0, data: 'near.test' }] : [aRecord(name, '192.0.2.7')] }),
    )
  })
  expect((await resolverFor({ servers: [server] }).a('far.test')).records).toEqual(['192.0.2.7'])
})

test('does not believe replies with another id, another question or no question', async () => {
  const server = await startRawServer((query, send) => {
    const { id = 0 } = decode(query)
    const forged = [aRecord('victim.test', '203.0.113.66')]
    send(reply(query, { id: id ^ 1, answers: forged }))
    send(reply(query, { questions: [{ type: 'A', name: 'other.test' }], answers: forged }))
    send(reply(query, { questions: [{ type: 'MX', name: 'victim.test' }], answers: forged }))
    send(reply(query, { questions: [], answers: forged }))
    send(query)
    send(randomBytes(5))
    send(reply(query, { answers: [aRecord('elsewhere.test', '203.0.113.67'), aRecord('VICTIM.test', '192.0.2.5')] }))
  })
  expect((await resolverFor({ servers: [server] }).a('victim.test')).records).toEqual(['192.0.2.5'])
})

test('asks servers in turn, and skips those that are silent, down, refuse or are not authoritative', async () => {
  const { server } = await startZone({ 'there.test': { a: ['192.0.2.3'] } })
  const silent = await startRawServer(() => {})
  const refusing = await startRawServer((query, send) => send(reply(query, { flags: 5 })))
  const referring = await startRawServer((query, send) =>
    send(reply(query, { flags: 0, authorities: [{ type: 'NS', name: 'test', ttl: 9, data: 'ns.test' }] })),
  )
  const servers = [silent, '127.0.0.1:1', refusing, referring, server]
  expect((await resolverFor({ servers, timeoutMs: 1_000 }).a('there.test')).records).toEqual(['192.0.2.3'])
  expect((await resolverFor({ servers: servers.slice(0, 4), timeoutMs: 50 }).a('there.test')).status).toBe('servfail')
})

test('each server can be asked alone, without the cache', async () => {
  const [liar, honest] = [await startZone({}), await startZone({ 'there.test': { a: ['192.0.2.3'], ttl: 60 } })]
  const resolver = resolverFor({ servers: [liar.server, '127.0.0.1:1', honest.server] })
  expect((await resolver.a('there.test')).status).toBe('nxdomain')
  for (const _ of [1, 2]) {
    const answers = await Promise.all(resolver.eachServer.map(({ a }) => a('There.test')))
    expect(answers.map(({ status, records }) => [status, ...records])).toEqual([['nxdomain'], ['servfail'], ['ok', '192.0.2.3']])
  }
  expect(honest.queries).toHaveLength(2)
  expect(resolver.eachServer.map(({ server }) => server)).toEqual(['127.0.0.1', '127.0.0.1', '127.0.0.1'])
})

test('asks a server that does not know EDNS without it', async () => {
  const server = await startRawServer((query, send) =>
    send(
      (decode(query).additionals ?? []).length > 0
        ? reply(query, { flags: (1 << 7) | 1, questions: [] })
        : reply(query, { answers: [aRecord('old.test', '192.0.2.4')] }),
    ),
  )
  expect((await resolverFor({ servers: [server] }).a('old.test')).records).toEqual(['192.0.2.4'])
})

test('garbage after a valid start is a servfail, never an exception', async () => {
  let garbage = Buffer.alloc(0)
  const server = await startRawServer((query, send) => send(Buffer.concat([query.subarray(0, 2), garbage])))
  const types = ['mx', 'a', 'aaaa', 'txt', 'cname', 'ns'] as const
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 10, maxLength: 80 }), fc.constantFrom(...types), async (bytes, type) => {
      garbage = Buffer.from(bytes)
      const resolver = dnsResolver({ servers: [server], timeoutMs: 5 })
      const { status } = await resolver[type]('victim.test')
      resolver.close()
      expect(status).toBe('servfail')
    }),
    { numRuns: cases(100) },
  )
})

test('damaged records after a valid question are records or a servfail', async () => {
  let damage: { at: number; byte: number }[] = []
  const server = await startRawServer((query, send) => {
    const name = 'victim.test'
    const message = reply(query, {
      answers: [
        { type: 'MX', name, ttl: 1, data: { preference: 1, exchange: 'mx.victim.test' } },
        { type: 'TXT', name, ttl: 1, data: ['some', 'text'] },
        { type: 'CNAME', name, ttl: 1, data: 'alias.test' },
        aRecord(name, '192.0.2.1'),
      ],
    })
    for (const { at, byte } of damage) message[29 + (at % (message.length - 29))] = byte
    send(message)
  })
  const change = fc.array(fc.record({ at: fc.nat(200), byte: fc.integer({ min: 0, max: 255 }) }), { minLength: 1, maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(change, async (changes) => {
      damage = changes
      const resolver = dnsResolver({ servers: [server], timeoutMs: 20 })
      for (const { records, status } of await Promise.all([resolver.mx('victim.test'), resolver.txt('victim.test')])) {
        if (status !== 'ok') expect(records).toEqual([])
      }
      resolver.close()
    }),
    { numRuns: cases(60) },
  )
})

test('caches answers for their TTL, failures for 5 s, negative answers for at most 5 min', async () => {
  let time = 0
  const { dns, resolver } = await resolverOver(
    { 'hour.test': { a: ['192.0.2.1'], ttl: 3600 }, 'broken.test': 'servfail', 'zero.test': { a: ['192.0.2.2'] } },
    { now: () => time },
  )
  const asked = async (name: string, type: 'a' | 'mx' = 'a'): Promise<number> => {
    const before = dns.queries.length
    await resolver[type](name)
    return dns.queries.length - before
  }
  expect(await asked('hour.test')).toBe(1)
  time = 600_000
  expect(await resolver.a('HOUR.test')).toMatchObject({ records: ['192.0.2.1'], ttl: 3000 })
  expect(await asked('hour.test')).toBe(0)
  time = 3_600_000
  expect(await asked('hour.test')).toBe(1)

  expect(await asked('hour.test', 'mx')).toBe(1)
  time += 299_999
  expect(await asked('hour.test', 'mx')).toBe(0)
  time += 1
  expect(await asked('hour.test', 'mx')).toBe(1)

  expect(await asked('broken.test')).toBe(1)
  expect(await asked('broken.test')).toBe(0)
  time += 5000
  expect(await asked('broken.test')).toBe(1)

  expect(await asked('zero.test')).toBe(1)
  expect(await asked('zero.test')).toBe(1)
})

test("concurrent look-ups share one query, and callers cannot modify each other's records", async () => {
  const { dns, resolver } = await resolverOver({ 'busy.test': { a: ['192.0.2.1', '192.0.2.2'], ttl: 60 } })
  const all = await Promise.all(Array.from({ length: 50 }, () => resolver.a('busy.test')))
  expect(dns.queries).toHaveLength(1)
  all[0]?.records.reverse()
  expect(all[1]?.records).toEqual(['192.0.2.1', '192.0.2.2'])
  expect((await resolver.a('busy.test')).records).toEqual(['192.0.2.1', '192.0.2.2'])
})

test('the cache holds a limited number of answers and evicts the least recently used', async () => {
  const { dns, resolver } = await resolverOver(
    Object.fromEntries(['a', 'b', 'c'].map((name) => [`${name}.test`, { a: ['192.0.2.1'], ttl: 60 }])),
    { cacheSize: 2 },
  )
  for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) await resolver.a(`${name}.test`)
  expect(dns.queries.map(({ name }) => name)).toEqual(['a.test', 'b.test', 'c.test', 'b.test'])
})

test('closing ends look-ups under way', async () => {
  const { resolver } = await resolverOver({ 'slow.test': 'timeout' })
  const waiting = resolver.a('slow.test')
  resolver.close()
  expect((await waiting).status).toBe('servfail')
  expect((await resolver.a('other.test')).status).toBe('servfail')
})

test.each(['name.test', '127.0.0.1:0', '127.0.0.1:65536', '[127.0.0.1', ''])('%j is no name server', (server) => {
  expect(() => dnsResolver({ servers: [server] })).toThrow(/ip:port/)
})

test('accepts IPv6 servers, and servers without a port', () => {
  expect(() => dnsResolver({ servers: ['::1', '[::1]:5353', '127.0.0.1', '127.0.0.1:5353'] }).close()).not.toThrow()
})

test('limits open sockets; further questions wait, but not beyond their timeout', async () => {
  const asked: { query: Buffer; send: (reply: Buffer) => void }[] = []
  const server = await startRawServer((query, send) => asked.push({ query, send }))
  const resolver = resolverFor({ servers: [server], maxSockets: 2 })
  const answers = Array.from({ length: 6 }, (_, i) => resolver.a(`n${i}.test`))
  for (let answered = 0; answered < 6; answered++) {
    await expect.poll(() => asked.length).toBe(Math.min(answered + 2, 6))
    const { query, send } = asked[answered]!
    send(reply(query, { flags: (1 << 7) | (1 << 10), answers: [aRecord(decode(query).questions?.[0]?.name ?? '', '192.0.2.1')] }))
    await answers[answered]
  }
  const silent = await startRawServer(() => {})
  const hasty = resolverFor({ servers: [silent], maxSockets: 1, timeoutMs: 20 })
  const late = await Promise.all(Array.from({ length: 5 }, (_, i) => hasty.a(`n${i}.test`)))
  expect(late.map(({ status }) => status)).toEqual(Array(5).fill('servfail'))
})
