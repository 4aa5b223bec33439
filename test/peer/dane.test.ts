import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { postfixDirectory, type PostfixInstance } from '../../bench/postfix-instance.ts'
import type { TlsaRecord } from '../../src/platform/resolver.ts'
import { dnsResolver, type DnsResolver } from '../../src/platform/dns/dns-resolver.ts'
import { jobOf, testDelivery } from '../support/delivery-fixture.ts'
import { documentedTable } from '../support/documented-table.ts'
import { startKnot, type KnotServer } from '../support/knot-server.ts'
import { startPostfixMailbox } from '../support/postfix-mailbox.ts'
import { testCertificate, tlsaOf, type TestCertificate } from '../support/test-certificates.ts'
import { startUnbound, type UnboundServer } from '../support/unbound-server.ts'

const host = '127.0.0.53'
const zones = ['dane.test', 'plain.test', 'bogus.test']
const domains = ['rcpt.dane.test', 'rcpt.plain.test', 'rcpt.bogus.test']
let port: number
let knot: KnotServer
let unbound: UnboundServer | undefined
let postfix: PostfixInstance
let certificate: TestCertificate
let authority: TestCertificate
let anchors: Record<string, string>
const open: DnsResolver[] = []
let passed = 0
const now = (): number => performance.now() + passed

beforeAll(async () => {
  port = await freePort()
  authority = await testCertificate(['Authority'])
  certificate = await testCertificate(['host.dane.test'], { issuer: authority })
  const keys = postfixDirectory()
  mkdirSync(keys, { recursive: true })
  writeFileSync(join(keys, 'tls.pem'), certificate.key + certificate.cert, { mode: 0o600 })
  const file = join(keys, 'tls.pem')
  postfix = await startPostfixMailbox(
    { host, port },
    { smtpd_tls_cert_file: file, smtpd_tls_key_file: file, virtual_mailbox_domains: domains.join(' ') },
  )
  knot = await startKnot(zones, ['dane.test', 'bogus.test'])
  const [dane = '', bogus = ''] = await Promise.all(['dane.test', 'bogus.test'].map((zone) => knot.keyOf(zone)))
  // The key of another zone.
  anchors = { 'dane.test': dane, 'bogus.test': dane.replaceAll('dane.test.', 'bogus.test.') }
  expect(bogus).not.toBe(anchors['bogus.test'])
})
afterAll(async () => {
  for (const each of open) each.close()
  postfix?.stop()
  await Promise.all([unbound?.stop(), knot?.stop()])
})

async function restart(trusted: Record<string, string> | null): Promise<void> {
  const wished = unbound ? { port: Number(unbound.server.split(':')[1]) } : {}
  await unbound?.stop()
  unbound = await startUnbound({ authority: knot.server, zones, anchors: trusted, ...wished })
}

const line = (name: string, { usage, selector, matchingType, data }: TlsaRecord): string =>
  `_${port}._tcp.${name} TLSA ${usage} ${selector} ${matchingType} ${data.toString('hex')}`
const own = (): TlsaRecord => tlsaOf(certificate, [3, 1, 1])
const ofOther = (): TlsaRecord => ({ ...own(), data: Buffer.alloc(32, 1) })
const mx = (of: string, name = 'host.dane.test.'): string => `${of} MX 0 ${name}`
const at = `host A ${host}`

/** What each zone has, and where mail goes. */
const cases: Record<string, [linesOf: (zone: string) => string[], destination: string]> = {
  '3 1 1 that matches': [() => [mx('rcpt'), at, line('host', own())], 'rcpt.dane.test'],
  '3 1 1 that does not match': [() => [mx('rcpt'), at, line('host', ofOther())], 'rcpt.dane.test'],
  '2 1 1 of the authority': [() => [mx('rcpt'), at, line('host', tlsaOf(authority, [2, 1, 1]))], 'rcpt.dane.test'],
  '2 1 1 of another authority': [() => [mx('rcpt'), at, line('host', { ...ofOther(), usage: 2 })], 'rcpt.dane.test'],
  '2 1 1 of the authority, at a host of another name': [
    () => [mx('rcpt', 'named.dane.test.'), `named A ${host}`, line('named', tlsaOf(authority, [2, 1, 1]))],
    'rcpt.dane.test',
  ],
  '1 1 1 alone': [() => [mx('rcpt'), at, line('host', { ...own(), usage: 1 })], 'rcpt.dane.test'],
  'no TLSA record': [() => [mx('rcpt'), at], 'rcpt.dane.test'],
  'a TLSA record in a bogus zone': [() => [mx('rcpt'), at, `_${port}._tcp.host CNAME x.bogus.test.`], 'rcpt.dane.test'],
  'a bogus zone': [() => [mx('rcpt')], 'rcpt.bogus.test'],
  'a zone that is not signed, whatever its TLSA record': [
    () => [mx('rcpt', 'host.plain.test.'), at, line('host', ofOther())],
    'rcpt.plain.test',
  ],
  'an MX record that is not signed, of a host that is': [
    (zone) => (zone === 'plain.test' ? [mx('rcpt')] : [at, line('host', ofOther())]),
    'rcpt.plain.test',
  ],
  'a host that is not signed': [
    (zone) => (zone === 'plain.test' ? [at, line('host', ofOther())] : [mx('rcpt', 'host.plain.test.')]),
    'rcpt.dane.test',
  ],
  'an alias, with a TLSA record where it leads': [
    () => [mx('rcpt', 'alias.dane.test.'), 'alias CNAME host', at, line('host', own()), line('alias', ofOther())],
    'rcpt.dane.test',
  ],
  'an alias, with a TLSA record of its own': [
    () => [mx('rcpt', 'alias.dane.test.'), 'alias CNAME host', at, line('alias', ofOther())],
    'rcpt.dane.test',
  ],
  'an alias into a zone that is not signed, with a TLSA record of its own': [
    (zone) => (zone === 'plain.test' ? [at] : [mx('rcpt', 'alias.dane.test.'), 'alias CNAME host.plain.test.', line('alias', ofOther())]),
    'rcpt.dane.test',
  ],
}

const unvalidated = '3 1 1 that does not match, from a name server that does not validate'
const noLonger = '3 1 1 that matches, from a name server that no longer validates'
const rows = documentedTable('DNS has', 'mail', 'policy', 'failure')
const rowOf = (called: string) => rows.find((row) => row['DNS has'] === called)

/** With a resolver that has seen nothing else. */
async function serve(linesOf: (zone: string) => string[], trusted: Record<string, string> | null = anchors): Promise<void> {
  for (const zone of zones) await knot.serve(zone, linesOf(zone))
  await restart(trusted)
}

/** How an attempt ends, in the words of docs/standards.md. */
async function attempt(delivery: ReturnType<typeof testDelivery>, destination: string): Promise<object> {
  const before = delivery.tlsSessions.length
  const { outcome, transport, policy } = await delivery.attempt(jobOf({ to: [`box@${destination}`], destination }))
  const failures = delivery.tlsSessions.slice(before).map(({ failure }) => failure?.type ?? '')
  const waits = outcome.type === 'deferred' && (outcome.category === 'policy' || outcome.reason.includes('4.4.3'))
  return { mail: waits ? 'waits' : transport, policy, failure: failures.join(' ') }
}

/** With name servers of which nothing is known yet. */
function delivery(): ReturnType<typeof testDelivery> {
  const resolver = dnsResolver({ servers: [unbound?.server ?? ''], dnssecProbe: { name: 'dane.test', type: 'NS' }, now })
  open.push(resolver)
  return testDelivery([{ host, port }], { resolver })
}

test('each row has its case', () => {
  expect(rows.map((row) => row['DNS has'])).toEqual([...Object.keys(cases), unvalidated, noLonger])
})

test.each(Object.entries(cases))('Postfix with %s', async (called, [linesOf, destination]) => {
  await serve(linesOf)
  expect({ 'DNS has': called, ...(await attempt(delivery(), destination)) }).toEqual(rowOf(called))
})

test(unvalidated, async () => {
  await serve(() => [mx('rcpt'), at, line('host', ofOther())], null)
  expect({ 'DNS has': unvalidated, ...(await attempt(delivery(), 'rcpt.dane.test')) }).toEqual(rowOf(unvalidated))
})

test(`${noLonger}; other mail does not wait`, async () => {
  await serve((zone) =>
    zone === 'bogus.test' ? [] : [mx('rcpt', `host.${zone}.`), at, ...(zone === 'dane.test' ? [line('host', own())] : [])],
  )
  const [running, verified] = [delivery(), { mail: 'verified', policy: 'dane' }]
  expect(await attempt(running, 'rcpt.dane.test')).toMatchObject(verified)
  await restart(null)
  expect({ 'DNS has': noLonger, ...(await attempt(running, 'rcpt.dane.test')) }).toEqual(rowOf(noLonger))
  expect(await attempt(running, 'rcpt.plain.test')).toMatchObject({ mail: 'encrypted', policy: 'opportunistic' })
  await restart(anchors)
  passed += 60_000
  expect(await attempt(running, 'rcpt.dane.test')).toMatchObject(verified)
})
