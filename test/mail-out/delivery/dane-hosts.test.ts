import { expect, it, test } from 'vitest'
import type { Dane } from '../../../src/mail-out/delivery/dane.ts'
import { DaneHosts } from '../../../src/mail-out/delivery/dane-hosts.ts'
import { routeTo, type RouteHost } from '../../../src/mail-out/delivery/route.ts'
import type { TlsaRecord } from '../../../src/platform/resolver.ts'
import { fakeResolver, type FakeNameTable } from '../../support/fake-resolver.ts'

const usable: TlsaRecord = { usage: 3, selector: 1, matchingType: 1, data: Buffer.alloc(32, 7) }
const other: TlsaRecord = { ...usable, data: Buffer.alloc(32, 8) }
const tlsa = { tlsa: [usable], secure: true }
const mx = { mx: [[0, 'mx.test']] as [number, string][], secure: true }
const host = { a: ['192.0.2.1'], secure: true }
const alias = { cname: ['host.test'], a: ['192.0.2.1'], expandedName: 'host.test' }

/** What DANE requires of the only host of rcpt.test, and what was asked. */
async function lookUp(names: FakeNameTable) {
  const resolver = fakeResolver({ 'rcpt.test': mx, 'mx.test': host, ...names })
  let now = 0
  const hosts = new DaneHosts(resolver, () => now)
  const find = async () => {
    const route = await routeTo('rcpt.test', {
      resolver,
      guard: { allowPrivateAddresses: true, ownListeners: [], interfaceAddresses: [] },
      ownNames: [],
      port: 25,
      smarthost: null,
      random: () => 0,
    })
    return hosts.find(('hosts' in route ? route.hosts[0] : null) as RouteHost, 'rcpt.test')
  }
  return { resolver, hosts, find, found: await find(), pass: (ms: number) => void (now += ms) }
}

const records = (base: string, names: string[], of = [usable]): Partial<Dane> => ({ is: 'records', base, names, records: of })

it.each<[string, FakeNameTable, Partial<Dane> | null]>([
  ['signed', { '_25._tcp.mx.test': tlsa }, records('mx.test', ['mx.test', 'rcpt.test'])],
  [
    'signed, with records of which some can be used',
    { '_25._tcp.mx.test': { ...tlsa, tlsa: [{ ...usable, usage: 1 }, other] } },
    records('mx.test', ['mx.test', 'rcpt.test'], [other]),
  ],
  ['signed, with records that cannot be used', { '_25._tcp.mx.test': { ...tlsa, tlsa: [{ ...usable, usage: 0 }] } }, { is: 'unusable' }],
  ['signed, without records', {}, null],
  ['signed, with other records', { '_25._tcp.mx.test': { txt: ['x'], secure: true } }, null],
  ['signed, with records that are not valid', { '_25._tcp.mx.test': 'servfail' }, { is: 'fault' }],
  ['signed, with records in a zone that is not', { '_25._tcp.mx.test': { ...tlsa, secure: false } }, null],
  ['signed, without an MX record', { 'rcpt.test': host, '_25._tcp.rcpt.test': tlsa }, records('rcpt.test', ['rcpt.test'])],
  ['signed, for a domain that is not', { 'rcpt.test': { ...mx, secure: false }, '_25._tcp.mx.test': tlsa }, null],
  ['not signed, for a domain that is', { 'mx.test': { ...host, secure: false }, '_25._tcp.mx.test': 'servfail' }, null],
  [
    'an alias, all signed',
    { 'mx.test': { ...alias, secure: true }, '_25._tcp.host.test': tlsa, '_25._tcp.mx.test': { ...tlsa, tlsa: [other] } },
    records('host.test', ['host.test', 'mx.test', 'rcpt.test']),
  ],
  [
    'an alias, all signed, with records at the original name',
    { 'mx.test': { ...alias, secure: true }, '_25._tcp.mx.test': tlsa },
    records('mx.test', ['mx.test', 'rcpt.test']),
  ],
  [
    'an alias, all signed, whose records are not valid',
    { 'mx.test': { ...alias, secure: true }, '_25._tcp.host.test': 'servfail', '_25._tcp.mx.test': tlsa },
    { is: 'fault' },
  ],
])('a host that is %s', async (_, names, expected) => {
  const { found } = await lookUp(names)
  expect(found).toEqual(expected === null ? null : expect.objectContaining(expected))
})

it('an alias into a zone that is not signed: the records at the original name count if the alias is', async () => {
  const { resolver, find, found } = await lookUp({ 'mx.test': { ...alias, secure: false }, '_25._tcp.mx.test': tlsa })
  expect(found).toBeNull()
  const { cname } = resolver
  resolver.cname = async (name) => ({ ...(await cname(name)), secure: true })
  expect(await find()).toEqual(expect.objectContaining(records('mx.test', ['mx.test', 'rcpt.test'])))
})

it.each<[string, FakeNameTable, string[]]>([
  ['the domain is not signed', { 'rcpt.test': { ...mx, secure: false } }, ['mx rcpt.test', 'a mx.test', 'aaaa mx.test']],
  ['the host is not signed', { 'mx.test': { ...host, secure: false } }, ['mx rcpt.test', 'a mx.test', 'aaaa mx.test']],
])('nothing more is asked if %s', async (_, names, asked) => {
  expect((await lookUp(names)).resolver.asked).toEqual(asked)
})

test('nothing more is asked, and nothing is required, if no name server validates', async () => {
  const resolver = fakeResolver({ 'rcpt.test': { mx: [[0, 'mx.test']] }, 'mx.test': { a: ['192.0.2.1'] } })
  const found = await new DaneHosts(resolver, () => 0).find({ name: 'mx.test', address: '192.0.2.1', port: 25 }, 'rcpt.test')
  expect(found).toBeNull()
  expect(resolver.asked).toEqual([])
})

test('if the name servers stop validating, mail for a destination that has had TLSA records waits for an hour', async () => {
  const { resolver, find, pass } = await lookUp({ '_25._tcp.mx.test': tlsa })
  resolver.validates = false
  expect(await find()).toMatchObject({ is: 'fault', fault: expect.stringContaining('no name server that validates') })
  pass(3_600_000 - 1)
  expect(await find()).toMatchObject({ is: 'fault' })
  resolver.validates = true
  expect(await find()).toMatchObject({ is: 'records' })
  resolver.validates = false
  pass(3_600_000)
  expect(await find()).toBeNull()
})

test('so does mail for a destination whose mail host is an alias for itself', async () => {
  const { resolver, find, found } = await lookUp({
    'rcpt.test': { ...mx, ...host },
    'mx.test': { ...alias, cname: ['rcpt.test'], expandedName: 'rcpt.test', secure: true },
    '_25._tcp.rcpt.test': tlsa,
  })
  expect(found).toMatchObject({ is: 'records', names: ['rcpt.test', 'mx.test'] })
  resolver.validates = false
  expect(await find()).toMatchObject({ is: 'fault', fault: expect.stringContaining('rcpt.test has TLSA records') })
})

test('DANE concerns hosts in signed zones, and those of a destination that has had TLSA records; of others nothing is looked up', async () => {
  const { hosts } = await lookUp({ '_25._tcp.mx.test': tlsa })
  const at = { name: 'mx.test', address: '192.0.2.1', port: 25 }
  expect(hosts.concerns(at, 'rcpt.test')).toBe(true)
  expect(hosts.concerns(at, 'other.test')).toBe(false)
  expect(hosts.concerns({ ...at, signedNames: [] }, 'other.test')).toBe(false)
  expect(hosts.concerns({ ...at, signedNames: ['mx.test'] }, 'other.test')).toBe(true)
})

test('a destination that is no longer signed is believed at once if the name servers still validate', async () => {
  const names: FakeNameTable = { 'rcpt.test': mx, 'mx.test': host, '_25._tcp.mx.test': tlsa }
  const { resolver, find, found } = await lookUp(names)
  expect(found).toMatchObject({ is: 'records' })
  resolver.mx = () =>
    Promise.resolve({ status: 'ok', records: [{ preference: 0, exchange: 'mx.test' }], ttl: 60, secure: false, isValidated: true })
  expect(await find()).toBeNull()
  resolver.validates = false
  expect(await find()).toMatchObject({ is: 'fault' })
})
