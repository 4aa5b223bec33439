import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../bench/free-port.ts'
import { postfixDirectory, type PostfixInstance } from '../../bench/postfix-instance.ts'
import type { TlsaRecord } from '../../src/platform/resolver.ts'
import { dnsResolver, type DnsResolver } from '../../src/platform/dns/dns-resolver.ts'
import { jobOf, testDelivery } from '../support/delivery-fixture.ts'
import { startKnot, type KnotServer } from '../support/knot-server.ts'
import { startPostfixMailbox } from '../support/postfix-mailbox.ts'
import { testCertificate, tlsaOf, type TestCertificate } from '../support/test-certificates.ts'
import { startUnbound, type UnboundServer } from '../support/unbound-server.ts'

const host = '127.0.0.53'
const zones = ['dane.test', 'plain.test', 'bogus.test']
const domains = ['rcpt.dane.test', 'other.dane.test', 'rcpt.plain.test', 'rcpt.bogus.test']
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

/** What each zone has, where mail goes, and how it travels, or why it waits. */
const table: [string, (zone: string) => string[], string, string | RegExp][] = [
  ['3 1 1 that matches', () => [mx('rcpt'), at, line('host', own())], 'rcpt.dane.test', 'verified dane'],
  ['3 1 1 that does not match', () => [mx('rcpt'), at, line('host', ofOther())], 'rcpt.dane.test', /^deferred: .*no TLSA record matches/],
  ['2 1 1 of the authority', () => [mx('rcpt'), at, line('host', tlsaOf(authority, [2, 1, 1]))], 'rcpt.dane.test', 'verified dane'],
  [
    '2 1 1 of another',
    () => [mx('rcpt'), at, line('host', { ...ofOther(), usage: 2 })],
    'rcpt.dane.test',
    /^deferred: .*no TLSA record matches/,
  ],
  [
    '2 1 1 of the authority at a host of another name',
    () => [mx('rcpt', 'named.dane.test.'), `named A ${host}`, line('named', tlsaOf(authority, [2, 1, 1]))],
    'rcpt.dane.test',
    /^deferred: .*ALTNAME_INVALID/,
  ],
  ['1 1 1 alone', () => [mx('rcpt'), at, line('host', { ...own(), usage: 1 })], 'rcpt.dane.test', 'encrypted require'],
  ['no TLSA record', () => [mx('rcpt'), at], 'rcpt.dane.test', 'encrypted opportunistic'],
  [
    'a TLSA record in a bogus zone',
    () => [mx('rcpt'), at, `_${port}._tcp.host CNAME x.bogus.test.`],
    'rcpt.dane.test',
    /^deferred: .*dnssec-invalid/,
  ],
  ['a bogus zone', () => [mx('rcpt')], 'rcpt.bogus.test', /^deferred: .*4\.4\.3/],
  [
    'a zone that is not signed, whatever its TLSA record',
    () => [mx('rcpt', 'host.plain.test.'), at, line('host', ofOther())],
    'rcpt.plain.test',
    'encrypted opportunistic',
  ],
  [
    'an MX record that is not signed, of a host that is',
    (zone) => (zone === 'plain.test' ? [mx('rcpt')] : [at, line('host', ofOther())]),
    'rcpt.plain.test',
    'encrypted opportunistic',
  ],
  [
    'a host that is not signed',
    (zone) => (zone === 'plain.test' ? [at, line('host', ofOther())] : [mx('rcpt', 'host.plain.test.')]),
    'rcpt.dane.test',
    'encrypted opportunistic',
  ],
  [
    'an alias, with a TLSA record where it leads',
    () => [mx('rcpt', 'alias.dane.test.'), 'alias CNAME host', at, line('host', own()), line('alias', ofOther())],
    'rcpt.dane.test',
    'verified dane',
  ],
  [
    'an alias, with a TLSA record of its own',
    () => [mx('rcpt', 'alias.dane.test.'), 'alias CNAME host', at, line('alias', ofOther())],
    'rcpt.dane.test',
    /^deferred: .*no TLSA record matches/,
  ],
  [
    'an alias into a zone that is not signed, with a TLSA record of its own',
    (zone) => (zone === 'plain.test' ? [at] : [mx('rcpt', 'alias.dane.test.'), 'alias CNAME host.plain.test.', line('alias', ofOther())]),
    'rcpt.dane.test',
    /^deferred: .*no TLSA record matches/,
  ],
]

/** With a resolver that has seen nothing else. */
async function serve(linesOf: (zone: string) => string[]): Promise<void> {
  for (const zone of zones) await knot.serve(zone, linesOf(zone))
  await restart(anchors)
}

async function attempt(delivery: ReturnType<typeof testDelivery>, destination: string): Promise<string> {
  const { outcome, transport, policy } = await delivery.attempt(jobOf({ to: [`box@${destination}`], destination }))
  return outcome.type === 'delivered' ? `${transport} ${policy}` : `${outcome.type}: ${'reason' in outcome ? outcome.reason : ''}`
}

/** With name servers of which nothing is known yet. */
function delivery(): ReturnType<typeof testDelivery> {
  const resolver = dnsResolver({ servers: [unbound?.server ?? ''], dnssecProbe: { name: 'dane.test', type: 'NS' }, now })
  open.push(resolver)
  return testDelivery([{ host, port }], { resolver })
}

test.each(table)('Postfix with %s', async (_, linesOf, destination, expected) => {
  await serve(linesOf)
  const outcome = await attempt(delivery(), destination)
  if (typeof expected === 'string') expect(outcome).toBe(expected)
  else expect(outcome).toMatch(expected)
})

test('a resolver that stops validating: mail for hosts with TLSA records waits, other mail does not', async () => {
  await serve((zone) =>
    zone === 'bogus.test'
      ? []
      : [mx('rcpt', `host.${zone}.`), mx('other', `host.${zone}.`), at, ...(zone === 'dane.test' ? [line('host', own())] : [])],
  )
  const running = delivery()
  expect(await attempt(running, 'rcpt.dane.test')).toBe('verified dane')
  await restart(null)
  expect(await attempt(running, 'rcpt.dane.test')).toMatch(/^deferred: .*dnssec-invalid/)
  expect(await attempt(running, 'rcpt.plain.test')).toBe('encrypted opportunistic')
  await restart(anchors)
  passed += 60_000
  expect(await attempt(running, 'rcpt.dane.test')).toBe('verified dane')
})

test('a resolver that does not validate: no TLSA record counts', async () => {
  await serve(() => [mx('rcpt'), at, line('host', ofOther())])
  await restart(null)
  expect(await attempt(delivery(), 'rcpt.dane.test')).toBe('encrypted opportunistic')
})
