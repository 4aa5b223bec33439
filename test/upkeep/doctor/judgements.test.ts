import { expect, test } from 'vitest'
import { judgeListings } from '../../../src/upkeep/doctor/examine-blocklists.ts'
import { judgeBaseUrl, type WebAnswer } from '../../../src/upkeep/doctor/examine-base-url.ts'
import { judgeAttempts, judgeCertificate } from '../../../src/upkeep/doctor/examine-certificate.ts'
import { judgeClock, judgeClockAgainstLog, offsetIn, sntpRequest } from '../../../src/upkeep/doctor/examine-clock.ts'
import { judgeDirectory, judgeDisk } from '../../../src/upkeep/doctor/examine-disk.ts'
import { judgeDmarc, judgeReturnPath } from '../../../src/upkeep/doctor/examine-domains.ts'
import { judgeWeb } from '../../../src/upkeep/doctor/examine-from-outside.ts'
import { judgeHostName, judgeReverse, sendingAddresses } from '../../../src/upkeep/doctor/examine-host-name.ts'
import { reverseName } from '../../../src/platform/ip-address.ts'
import { judgeTries } from '../../../src/upkeep/doctor/examine-port-25.ts'
import { judgeReturnPort, judgeWayBack } from '../../../src/upkeep/doctor/examine-way-back.ts'
import { readDmarc } from '../../../src/senders/sending-domain/dmarc-record.ts'
import { loadOrMakeCertificate } from '../../../src/platform/certificate/self-signed-certificate.ts'
import { certificateServices } from '../../support/certificate-services.ts'
import { testDirectory } from '../../support/temporary-directory.ts'
import { testCertificate } from '../../support/test-certificates.ts'

const host = { host: 'mx.test', port: 25 }
const greeted = { host, greeting: { line: '220 mx.test ESMTP' } }
const refused = { host, greeting: { fault: 'ECONNREFUSED' } }
test.each([
  [[greeted, greeted], 'ok'],
  [[greeted, refused], 'warning'],
  [[refused, { host, greeting: { line: '554 not you' } }], 'failed'],
  [[{ host, greeting: { line: '2200 nonsense' } }], 'failed'],
] as const)('port 25, case %#', (tries, status) => expect(judgeTries([...tries]).status).toBe(status))

const own = (...addresses: string[]) => addresses.map((address) => ({ address, isOwn: true }))
test.each([
  ['localhost', ['127.0.0.1'], own(), 'failed'],
  ['mail.test', [], own('192.0.2.1'), 'failed'],
  ['mail.test', ['192.0.2.1'], own('192.0.2.1', '2001:db8::1'), 'warning'],
  ['mail.test', ['192.0.2.1', '2001:db8:0::1'], own('192.0.2.1', '2001:db8::1'), 'ok'],
  ['mail.test', ['192.0.2.1'], [{ address: '192.0.2.1', isOwn: false }], 'ok'],
] as const)('host name %s at %j', (name, found, sending, status) => {
  expect(judgeHostName(name, [...found], [...sending]).status).toBe(status)
})

test('mail leaves from the public addresses of the machine, or else from those of its name', () => {
  expect(sendingAddresses(['127.0.0.1', '10.0.0.2', '8.8.8.8', 'fe80::1'], ['9.9.9.9'])).toEqual(own('8.8.8.8'))
  expect(sendingAddresses(['127.0.0.1', '10.0.0.2'], ['9.9.9.9', '10.0.0.3'])).toEqual([{ address: '9.9.9.9', isOwn: false }])
  // IPv6 of its own, IPv4 behind NAT.
  expect(sendingAddresses(['10.0.0.2', '2a00::2', 'fe80::1'], ['9.9.9.9', '2a00::9'])).toEqual([
    { address: '9.9.9.9', isOwn: false },
    { address: '2a00::2', isOwn: true },
  ])
  // Nothing leaves over a family that the machine lacks.
  expect(sendingAddresses(['::1', '8.8.8.8', 'fe80::1'], ['8.8.8.8', '2a00::9'])).toEqual(own('8.8.8.8'))
})

const at = { address: '192.0.2.1', hostname: 'mail.test', isOwn: true }
test.each([
  [[], 'failed'],
  [[{ name: 'mail.test', leadsTo: ['192.0.2.9'] }], 'failed'],
  [[{ name: 'host-1.provider.test', leadsTo: ['192.0.2.1'] }], 'warning'],
  [
    [
      { name: 'x.test', leadsTo: [] },
      { name: 'mail.test', leadsTo: ['192.0.2.1'] },
    ],
    'ok',
  ],
] as const)('reverse DNS %j', (names, status) => {
  expect(
    judgeReverse(
      at,
      names.map(({ name, leadsTo }) => ({ name, leadsTo: [...leadsTo] })),
    ).status,
  ).toBe(status)
})

test('names of addresses', () => {
  expect(reverseName('192.0.2.1')).toBe('1.2.0.192.in-addr.arpa')
  expect(reverseName('2001:db8::1')).toBe('1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa')
})

const works = { control: ['127.0.0.2'], nobody: [] }
test.each([
  ['a list that does not have it', works, [], 'ok'],
  ['a list that has it', works, ['127.0.0.3'], 'failed'],
  ['a list that refuses public resolvers', { control: ['127.255.255.254'], nobody: ['127.255.255.254'] }, ['127.255.255.254'], 'skipped'],
  ['a list that refuses only this question', works, ['127.255.255.255'], 'skipped'],
  ['a list that does not answer', { control: null, nobody: null }, null, 'skipped'],
  ['a list that answers only in part', works, null, 'skipped'],
  ['a list that has ended', { control: [], nobody: [] }, [], 'skipped'],
  ['a list that has ended and has everybody', { control: ['127.0.0.2'], nobody: ['127.0.0.2'] }, ['127.0.0.2'], 'skipped'],
  ['a domain that was sold', { control: ['203.0.113.5'], nobody: ['203.0.113.5'] }, ['203.0.113.5'], 'skipped'],
  ['an advertisement instead of an answer', works, ['203.0.113.5'], 'ok'],
] as const)('%s', (_, { control, nobody }, codes, status) => {
  const list = (given: readonly string[] | null) => (given === null ? null : [...given])
  expect(
    judgeListings('bl.test', { control: list(control), nobody: list(nobody) }, [{ address: '192.0.2.1', codes: list(codes) }]).status,
  ).toBe(status)
})

const policy = (text: string, subdomains = true) =>
  judgeDmarc({ name: 'shop.test', subdomains }, { at: 'shop.test', reading: readDmarc([text]) })
const codeOf = (texts: string[] | null) =>
  judgeDmarc({ name: 'shop.test', subdomains: true }, texts && { at: 'shop.test', reading: readDmarc(texts) }).code
test.each([
  [policy('v=DMARC1; p=reject'), 'ok'],
  [policy('v=DMARC1; p=none; aspf=s'), 'warning'],
  [policy('v=DMARC1; p=none; adkim=S'), 'warning'],
  [policy('v=DMARC1; p=none; adkim=s', false), 'ok'],
  [policy('v=DMARC1; p=reject; t=y'), 'ok'],
])('%j', (finding, status) => expect(finding.status).toBe(status))

test.each([
  [[], 'dmarc_none'],
  [['v=DMARC1; p=none', 'v=DMARC1; p=reject'], 'dmarc_several'],
  [['"v=DMARC1; p=none"'], 'dmarc_quoted'],
  [['v=DMARC1'], 'dmarc_invalid'],
  [null, 'dmarc_unknown'],
])('the DMARC policy in %j: %s', (texts, code) => expect(codeOf(texts)).toBe(code))

const names = { hostname: 'mail.test', returnPathDomain: 'mail.test' }
test.each([
  [['v=spf1 a:mail.test ~all'], 'ok'],
  [['v=spf1 a -all'], 'ok'],
  [['v=spf1 mx -all'], 'warning'],
  [['v=spf1 a -all', 'v=spf1 mx -all'], 'warning'],
  [['"v=spf1 a -all"'], 'warning'],
  [[], 'warning'],
  [null, 'skipped'],
] as const)('SPF of the return path: %j', (texts, status) => expect(judgeReturnPath(names, texts && [...texts]).status).toBe(status))

test.each([
  ['ok', ['mail.test'], 'ok'],
  ['ok', ['backup.test', 'mail.test'], 'ok'],
  ['ok', ['other.test'], 'warning'],
  ['ok', [''], 'warning'],
  ['nodata', [], 'ok'],
  ['nxdomain', [], 'warning'],
  ['servfail', [], 'skipped'],
] as const)('the way back with MX %s %j', (status, exchanges, verdict) => {
  const records = exchanges.map((exchange) => ({ preference: 10, exchange }))
  expect(judgeWayBack({ ...names, isListening: true }, { status, records }).status).toBe(verdict)
})

test('there is no way back to a name without MX that is not the host, nor where nothing listens', () => {
  const none = { status: 'nodata', records: [] } as const
  expect(judgeWayBack({ ...names, returnPathDomain: 'bounce.test', isListening: true }, { ...none, records: [] }).status).toBe('warning')
  expect(
    judgeWayBack({ ...names, isListening: false }, { status: 'ok', records: [{ preference: 10, exchange: 'mail.test' }] }).status,
  ).toBe('warning')
  expect(judgeWayBack({ hostname: 'localhost', returnPathDomain: 'localhost', isListening: true }, { ...none, records: [] }).status).toBe(
    'skipped',
  )
})

test.each([
  [{ line: '220 mail.test ESMTP' }, 'ok', /as this server/],
  [{ line: '220 other.test ESMTP\u001b[2J' }, 'warning', /another mail server answers: "220 other\.test ESMTP\?\[2J"/],
  [{ fault: 'no answer' }, 'warning', /does not answer here: no answer/],
  [{ fault: 'connect ENETUNREACH 192.0.2.1:25' }, 'skipped', /nothing can be reached/],
] as const)('port 25 of our own name: %j', (greeting, status, what) => {
  expect(judgeReturnPort({ host: 'mail.test', address: '192.0.2.1' }, greeting)).toMatchObject({
    status,
    what: expect.stringMatching(what),
  })
})

test.each([
  ['connect ENETUNREACH 2001:db8::1:443', 'skipped'],
  // What a firewall that rejects makes of the port.
  ['connect EHOSTUNREACH 192.0.2.1:443', 'warning'],
])('a port seen from outside: %s', (fault, status) => {
  expect(judgeWeb({ host: 'mail.test', address: '192.0.2.1', port: 443, isTls: true }, { fault }, 0).status).toBe(status)
})

test.each<[baseUrl: string, answer: WebAnswer, status: string, what: RegExp]>([
  ['https://mail.test', 'sterna', 'ok', /leads to a Sterna server/],
  ['https://mail.test', 'other', 'failed', /something other than Sterna/],
  ['https://mail.test', { fault: 'self-signed certificate' }, 'warning', /cannot be reached from here: self-signed certificate/],
  ['http://mail.test:8080', 'sterna', 'warning', /without TLS/],
  ['http://localhost:8080', 'sterna', 'warning', /their own computer/],
  ['http://[::1]:8080', 'sterna', 'warning', /their own computer/],
])('base_url %s: %j', (baseUrl, answer, status, what) => {
  expect(judgeBaseUrl(baseUrl, answer)).toMatchObject({ status, what: expect.stringMatching(what) })
})

const day = 86_400_000
test('certificates', async () => {
  const { cert } = await testCertificate(['mail.test'])
  const now = Date.now()
  const judge = (pem: string | null, more = {}) => judgeCertificate(pem, { hostname: 'mail.test', isMade: false, now, ...more })
  expect(judge(cert)).toMatchObject({ status: 'warning', what: expect.stringContaining('self-signed') })
  expect(judge(cert, { hostname: 'other.test' })).toMatchObject({ status: 'failed', what: expect.stringContaining('not for other.test') })
  expect(judge(cert, { now: now + 10_000 * day })).toMatchObject({ status: 'failed', what: expect.stringContaining('expired') })
  expect(judge(cert, { now: now - 10_000 * day })).toMatchObject({ status: 'failed', what: expect.stringContaining('valid only from') })
  const { db, secrets } = await certificateServices()
  const place = { certFile: null, keyFile: null, directory: testDirectory(), db, secrets }
  const made = await loadOrMakeCertificate({ ...place, hostname: 'mail.test', now })
  const own = judge(made.cert, { isMade: true })
  expect(own).toMatchObject({ status: 'warning', what: expect.stringContaining('Sterna made this self-signed certificate itself') })
  expect(own.advice).toMatch(/tls\/self-signed\.crt in data_dir \(SHA-256 [0-9A-F:]{95}\)/)
  expect(judge('nonsense').status).toBe('failed')
  expect(judge(null, { isMade: true }).status).toBe('skipped')
})

test('names that got no certificate are told with the reason, what to do, and when the next attempt is', () => {
  const failing = (type: string) => ({
    failures: 2,
    lastAt: 0,
    nextAt: Date.UTC(2026, 10, 23, 12),
    problem: { type, detail: 'connection refused', challenge: 'http-01' as const },
  })
  const begun = { ...failing('dns'), problem: null }
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`links.shop${i}.test`, failing('caa')]))
  expect(judgeAttempts({ names: { 'begun.test': begun } }, 'mail.test')).toEqual([])
  const [own, ...others] = judgeAttempts({ names: { 'mail.test': failing('connection'), ...many } }, 'mail.test')
  expect(own).toMatchObject({ status: 'failed', what: 'There is no new certificate for mail.test: connection refused' })
  expect(own?.advice).toMatch(/port 80 of this name must lead to http\.listen.* next attempt is at 2026-11-23T12:00:00/)
  expect(others.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 'warning'))
  expect(others[0]?.advice).toMatch(/CAA/)
  expect(others.at(-1)?.what).toBe('3 more names have no new certificate.')
})

const gigabyte = 1024 ** 3
test.each([
  [100, 400, 'ok'],
  [15, 400, 'warning'],
  [0.5, 4, 'warning'],
  [0.05, 400, 'failed'],
  [0.05, 0.2, 'ok'],
  [0.01, 0.2, 'failed'],
])('%s GB of %s GB free', (free, size, status) => {
  expect(judgeDisk({ free: free * gigabyte, size: size * gigabyte }, gigabyte / 16).status).toBe(status)
})

test.each([
  [0o700, 0o644, 'ok'],
  [0o755, 0o600, 'ok'],
  [0o755, 0o644, 'warning'],
  [0o750, 0o640, 'warning'],
])('a directory with mode %o and a file with %o in it', (directory, file, status) => {
  expect(
    judgeDirectory('/data', [
      { path: '/data', mode: directory },
      { path: '/data/sterna.db', mode: file },
    ]).status,
  ).toBe(status)
})

test.each([
  [null, null, 'skipped'],
  ['ntp.test', null, 'skipped'],
  ['ntp.test', 1_000, 'ok'],
  ['ntp.test', -5_000, 'warning'],
  ['ntp.test', 90_000, 'failed'],
] as const)('clock against %s: %s ms', (server, offset, status) => expect(judgeClock(server, offset).status).toBe(status))

test.each([
  [null, []],
  [-30 * 24 * 3_600_000, []],
  [60_000, []],
  [3_600_000, ['warning']],
])('clock against an event of %s ms later', (ahead, statuses) => {
  const now = Date.UTC(2026, 10, 22)
  expect(judgeClockAgainstLog(ahead === null ? null : now + ahead, now).map(({ status }) => status)).toEqual(statuses)
})

function ntpReply(at: number, { mode = 4, stratum = 2, leap = 0 } = {}): Buffer {
  const reply = Buffer.alloc(48)
  reply[0] = (leap << 6) | (4 << 3) | mode
  reply[1] = stratum
  for (const place of [32, 40]) {
    reply.writeUInt32BE((Math.floor(at / 1000) + 2_208_988_800) % 2 ** 32, place)
    reply.writeUInt32BE(Math.floor(((at % 1000) / 1000) * 2 ** 32), place + 4)
  }
  return reply
}

test('the time in an answer of a time server', () => {
  const now = Date.UTC(2026, 10, 21, 6)
  expect(sntpRequest()).toHaveLength(48)
  expect(offsetIn(ntpReply(now + 50), now, now + 100)).toBeCloseTo(0, 0)
  expect(offsetIn(ntpReply(now - 4_950), now, now + 100)).toBeCloseTo(5_000, 0)
  const later = Date.UTC(2040, 0, 1)
  expect(offsetIn(ntpReply(later + 250), later, later)).toBeCloseTo(-250, 0)
  for (const bad of [ntpReply(now, { mode: 3 }), ntpReply(now, { stratum: 0 }), ntpReply(now, { leap: 3 }), Buffer.alloc(10)]) {
    expect(offsetIn(bad, now, now)).toBeNull()
  }
})
