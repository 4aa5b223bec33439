import { describe, expect, it } from 'vitest'
import { isAbsence } from '../../../src/mail-out/delivery/outcome.ts'
import { routeTo, type RouteServices } from '../../../src/mail-out/delivery/route.ts'
import { fakeResolver, type FakeNameTable } from '../../support/fake-resolver.ts'

const services = (names: FakeNameTable, more: Partial<RouteServices> = {}): RouteServices => ({
  resolver: fakeResolver(names),
  guard: { allowPrivateAddresses: false, ownListeners: [], interfaceAddresses: [] },
  ownNames: ['relay.test'],
  port: 25,
  smarthost: null,
  random: () => 0,
  ...more,
})

/** `mx1.example.com 93.184.215.1, …`, or how it ended; `absent` where that would have to be said twice. */
const routed = async (names: FakeNameTable, more: Partial<RouteServices> = {}, destination = 'example.com'): Promise<string> => {
  const route = await routeTo(destination, services(names, more))
  if ('hosts' in route) return route.hosts.map(({ name, address }) => `${name} ${address}`).join(', ')
  const { outcome } = route
  if (outcome.type === 'bounced')
    return `${isAbsence(outcome) ? 'absent' : 'bounced'} ${outcome.hard ? 'hard' : 'soft'} ${outcome.category}: ${outcome.reason}`
  return outcome.type === 'deferred' ? `deferred ${outcome.category}` : outcome.type
}

const host = (last: number) => ({ a: [`93.184.215.${last}`] })

describe('MX hosts (RFC 5321 5.1)', () => {
  it('come by preference, with IPv4 and IPv6 addresses', async () => {
    const names = {
      'example.com': {
        mx: [
          [20, 'MX2.example.com'],
          [10, 'mx1.example.com'],
        ] satisfies [number, string][],
      },
      'mx1.example.com': { a: ['93.184.215.1'], aaaa: ['2606:2800::1'] },
      'mx2.example.com': host(2),
    }
    expect(await routed(names)).toBe('mx1.example.com 93.184.215.1, mx1.example.com 2606:2800::1, mx2.example.com 93.184.215.2')
  })

  it('have their IPv4 and IPv6 addresses in turn', async () => {
    const addresses = { a: ['93.184.215.1', '93.184.215.2', '93.184.215.3'], aaaa: ['2606:2800::1', '2606:2800::2'] }
    expect(await routed({ 'example.com': addresses })).toBe(
      ['93.184.215.1', '2606:2800::1', '93.184.215.2', '2606:2800::2', '93.184.215.3']
        .map((address) => `example.com ${address}`)
        .join(', '),
    )
    expect(await routed({ 'example.com': { aaaa: addresses.aaaa } })).toBe('example.com 2606:2800::1, example.com 2606:2800::2')
  })

  it('of one preference are shuffled', async () => {
    const names = {
      'example.com': {
        mx: [
          [10, 'a.test'],
          [10, 'b.test'],
          [5, 'c.test'],
        ] satisfies [number, string][],
      },
      'a.test': host(1),
      'b.test': host(2),
      'c.test': host(3),
    }
    const chances = [0.9, 0.1, 0.99]
    expect(await routed(names, { random: () => chances.shift() ?? 0 })).toBe(
      'c.test 93.184.215.3, b.test 93.184.215.2, a.test 93.184.215.1',
    )
  })

  it('are tried once each, though named twice or at one address', async () => {
    const names = {
      'example.com': {
        mx: [
          [10, 'a.test'],
          [20, 'A.test'],
          [30, 'b.test'],
        ] satisfies [number, string][],
      },
      'a.test': host(1),
      'b.test': host(1),
    }
    expect(await routed(names)).toBe('a.test 93.184.215.1')
  })

  it('are bounded: fifty hosts, two hundred addresses', async () => {
    const names: FakeNameTable = { 'example.com': { mx: Array.from({ length: 1000 }, (_, i) => [i, `mx${i}.test`] as [number, string]) } }
    for (let i = 0; i < 1000; i++) names[`mx${i}.test`] = { a: Array.from({ length: 30 }, (_x, j) => `93.184.${i % 250}.${j + 1}`) }
    const resolver = fakeResolver(names)
    const route = await routeTo('example.com', services({}, { resolver }))
    expect('hosts' in route && route.hosts).toHaveLength(200)
    expect(resolver.asked).toHaveLength(101)
  })

  it('a domain without any is its own', async () => {
    expect(await routed({ 'example.com': host(9) })).toBe('example.com 93.184.215.9')
  })

  it('a domain with some that have no address is not', async () => {
    const names = { 'example.com': { ...host(9), mx: [[10, 'gone.test']] satisfies [number, string][] } }
    expect(await routed(names)).toBe('absent soft domain_not_found: 5.4.4 no host of example.com has an address')
  })
})

describe('what the name servers say', () => {
  const mx = (...names: string[]) => ({ mx: names.map((name, i) => [i, name] as [number, string]) })

  it.each<[string, FakeNameTable, RegExp]>([
    ['no such domain', {}, /^absent hard domain_not_found: 5\.1\.2/],
    ['null MX', { 'example.com': mx('') }, /^bounced hard invalid_recipient: 5\.1\.10/],
    ['null MX beside a host', { 'example.com': mx('', 'a.test'), 'a.test': host(1) }, /^a\.test 93/],
    ['nothing but a TXT record', { 'example.com': { txt: ['x'] } }, /^absent soft domain_not_found: 5\.4\.4/],
    ['SERVFAIL for MX', { 'example.com': 'servfail' }, /^deferred timeout/],
    ['SERVFAIL for the only host', { 'example.com': mx('a.test'), 'a.test': 'servfail' }, /^deferred timeout/],
    [
      'SERVFAIL for one host, none of the others known',
      { 'example.com': mx('a.test', 'b.test'), 'a.test': 'servfail' },
      /^deferred timeout/,
    ],
    ['SERVFAIL for one host of two', { 'example.com': mx('a.test', 'b.test'), 'a.test': 'servfail', 'b.test': host(2) }, /^b\.test 93/],
    [
      'SERVFAIL for one, the other forbidden',
      { 'example.com': mx('a.test', 'b.test'), 'a.test': 'servfail', 'b.test': { a: ['10.0.0.1'] } },
      /^deferred/,
    ],
  ])('%s', async (_, names, expected) => expect(await routed(names)).toMatch(expected))

  it('is not asked for address literals', async () => {
    for (const literal of ['[192.0.2.1]', '192.0.2.1', '[IPv6:2001:db8::1]'])
      expect(await routed({}, {}, literal)).toMatch(/^bounced soft policy/)
  })
})

describe('where mail is never sent', () => {
  const at = (...addresses: string[]): FakeNameTable => ({ 'example.com': { mx: [[10, 'mx.test']] }, 'mx.test': { a: addresses } })

  it.each(['127.0.0.1', '10.1.2.3', '169.254.169.254', '100.64.0.1', '198.18.0.1'])('private addresses: %s', async (address) => {
    expect(await routed(at(address))).toMatch(/^absent soft policy: 5\.4\.4 .*delivery\.allow_private_addresses/)
    const lab = { allowPrivateAddresses: true, ownListeners: [], interfaceAddresses: [] }
    expect(await routed(at(address), { guard: lab })).toBe(`mx.test ${address}`)
  })

  it('only the public ones of several', async () => expect(await routed(at('10.0.0.1', '93.184.215.1'))).toBe('mx.test 93.184.215.1'))

  it('ourselves by name, nor hosts that are no better (RFC 5321 5.1)', async () => {
    const names: FakeNameTable = {
      'example.com': {
        mx: [
          [10, 'a.test'],
          [20, 'relay.test'],
          [20, 'b.test'],
          [30, 'c.test'],
        ],
      },
      'a.test': host(1),
      'relay.test': host(2),
      'b.test': host(3),
      'c.test': host(4),
    }
    expect(await routed(names)).toBe('a.test 93.184.215.1')
    expect(await routed({ 'example.com': { mx: [[10, 'relay.test']] }, 'relay.test': host(2) })).toMatch(/^absent soft policy: 5\.4\.6/)
  })

  it('ourselves by address, even where private addresses are allowed', async () => {
    const guard = {
      allowPrivateAddresses: true,
      ownListeners: [{ host: '0.0.0.0', port: 25 }],
      interfaceAddresses: ['127.0.0.1', '192.0.2.9'],
    }
    for (const address of ['127.0.0.1', '192.0.2.9', '0.0.0.0']) {
      expect(await routed(at(address), { guard })).toMatch(/^absent soft policy: 5\.4\.6/)
    }
    expect(await routed(at('192.0.2.10'), { guard })).toBe('mx.test 192.0.2.10')
  })
})

describe('a smarthost', () => {
  it('takes all mail, in the own network too', async () => {
    const smarthost = { host: 'smart.test', port: 587 }
    const route = await routeTo('example.com', services({ 'smart.test': { a: ['10.0.0.5'] } }, { smarthost }))
    expect(route).toMatchObject({ hosts: [{ name: 'smart.test', address: '10.0.0.5', port: 587 }] })
    expect(await routed({}, { smarthost: { host: '10.0.0.6', port: 25 } })).toBe('10.0.0.6 10.0.0.6')
  })

  it('that cannot be found, or is ourselves, keeps the mail', async () => {
    expect(await routed({}, { smarthost: { host: 'smart.test', port: 25 } })).toBe('deferred other')
    const guard = { allowPrivateAddresses: false, ownListeners: [{ host: '127.0.0.1', port: 25 }], interfaceAddresses: [] }
    expect(await routed({}, { guard, smarthost: { host: '127.0.0.1', port: 25 } })).toBe('deferred other')
  })
})
