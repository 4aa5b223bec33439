import { expect, test } from 'vitest'
import { dnsResolver } from '../../../src/platform/dns/dns-resolver.ts'
import { readDmarc, withPolicy, type DmarcRecord } from '../../../src/senders/sending-domain/dmarc-record.ts'
import { appliedPolicy, findDmarc, findOrganizationalDomain } from '../../../src/senders/sending-domain/find-dmarc.ts'
import { startFakeDns, type FakeZone } from '../../support/fake-dns.ts'

test.each<[string[], object]>([
  [[], { fault: 'missing' }],
  [['v=spf1 -all'], { fault: 'missing' }],
  [['v=DMARC1; p=none; rua=mailto:a@b.example'], { policy: 'none', isOnTrial: false, pct: null }],
  [['v=spf1 -all', 'V = DMARC1 ;p=QUARANTINE ; pct=10'], { policy: 'quarantine', isOnTrial: false, pct: '10' }],
  [['v=DMARC1; p=reject; pct=100;'], { policy: 'reject', isOnTrial: false, pct: '100' }],
  [['v=DMARC1; p=reject; t=y'], { policy: 'reject', isOnTrial: true }],
  [['v=DMARC1; p=none; t=y'], { policy: 'none', isOnTrial: false }],
  [['v=DMARC1; p=none; sp=reject; t=y'], { policy: 'none', isOnTrial: true }],
  [['v=DMARC1; p=reject; sp=quarantine; np=none'], { below: { existing: 'quarantine', absent: 'none' } }],
  [['v=DMARC1; p=reject; sp=quarantine'], { below: { existing: 'quarantine', absent: 'quarantine' } }],
  [['v=DMARC1; p=reject'], { below: { existing: 'reject', absent: 'reject' }, psd: 'u' }],
  [['v=DMARC1; p=reject; PSD=Y'], { psd: 'y' }],
  [['v=DMARC1; unknown=tag; P=reject'], { policy: 'reject', isOnTrial: false }],
  [['v=DMARC1; p=none', 'v=DMARC1; p=reject'], { fault: 'several' }],
  [['v=DMARC1; p=none', 'v=DMARC1'], { fault: 'several' }],
  // The version comes first, in these letters.
  [['p=none; v=DMARC1'], { fault: 'missing' }],
  [['v=dmarc1; p=none'], { fault: 'missing' }],
  [['v=DMARC10; p=none'], { fault: 'missing' }],
  [['v=DMARC1; p=none', 'p=reject; v=DMARC1'], { policy: 'none' }],
  // Without a valid policy it is a request for reports (RFC 9989 4.7).
  [['v=DMARC1; rua=mailto:a@b.example'], { policy: 'none', isOnTrial: false }],
  [['v=DMARC1; p=quarantaine; rua=mailto:a@b.example'], { policy: 'none' }],
  [['v=DMARC1; p=reject; sp=all; rua=mailto:a@b.example'], { policy: 'none' }],
  [['v=DMARC1; p=reject; sp=all'], { fault: 'invalid', text: 'v=DMARC1; p=none; sp=all' }],
  [['v=DMARC1'], { fault: 'invalid', text: 'v=DMARC1; p=none' }],
  [['v=DMARC1; rua=somebody'], { fault: 'invalid', text: 'v=DMARC1; p=none; rua=somebody' }],
  // What DNS panels store.
  [['"v=DMARC1; p=none"'], { fault: 'quoted', text: 'v=DMARC1; p=none' }],
  [['v=DMARC1\\; p=none\\; rua=mailto:a@b.example'], { fault: 'quoted', text: 'v=DMARC1; p=none; rua=mailto:a@b.example' }],
  [['"v=DMARC1\\; " "p=none"'], { fault: 'quoted', text: 'v=DMARC1; p=none' }],
  [['“v=DMARC1; p=none”'], { fault: 'quoted', text: 'v=DMARC1; p=none' }],
  [['v=DMARC1; p=reject', '"v=DMARC1; p=none"'], { policy: 'reject' }],
])('receivers read %j', (texts, expected) => {
  expect(readDmarc(texts)).toMatchObject(expected)
})

// With a stranger's DNS, one record can be as long as a message: 64 KB.
test.each(['"', "'`", '“”', '\\', '" "', ' \t'])('a row of %j in a text takes linear time', (marks) => {
  expect(readDmarc([`v${marks.repeat(100_000)}v`])).toEqual({ fault: 'missing' })
})

test.each<[string, FakeZone, object]>([
  ['its own record', { '_dmarc.a.b.shop.test': { txt: ['v=DMARC1; p=reject'] } }, { at: 'a.b.shop.test', reading: { policy: 'reject' } }],
  [
    'the record of the organizational domain, not of a name between',
    { '_dmarc.b.shop.test': { txt: ['v=DMARC1; p=none'] }, '_dmarc.shop.test': { txt: ['v=DMARC1; p=reject'] } },
    { at: 'shop.test', reading: { policy: 'reject' } },
  ],
  [
    'that of a name which says that it is the organizational domain',
    { '_dmarc.b.shop.test': { txt: ['v=DMARC1; p=none; psd=n'] }, '_dmarc.shop.test': { txt: ['v=DMARC1; p=reject'] } },
    { at: 'b.shop.test', reading: { policy: 'none' } },
  ],
  [
    'not that of a public suffix above the organizational domain',
    { '_dmarc.shop.test': { txt: ['v=DMARC1; p=none'] }, '_dmarc.test': { txt: ['v=DMARC1; p=reject; psd=y'] } },
    { at: 'shop.test', reading: { policy: 'none' } },
  ],
  ['that of a public suffix if nothing else is there', { '_dmarc.test': { txt: ['v=DMARC1; p=reject; psd=y'] } }, { at: 'test' }],
  [
    'what is wrong with its own',
    { '_dmarc.a.b.shop.test': { txt: ['"v=DMARC1; p=none"'] }, '_dmarc.shop.test': { txt: ['v=DMARC1; p=reject'] } },
    { at: 'a.b.shop.test', reading: { fault: 'quoted' } },
  ],
  [
    'that of a public suffix if the organizational domain right below it has none',
    { '_dmarc.b.shop.test': { txt: ['v=DMARC1; p=none'] }, '_dmarc.test': { txt: ['v=DMARC1; p=reject; psd=y'] } },
    { at: 'test' },
  ],
  ['nothing', {}, { at: 'a.b.shop.test', reading: { fault: 'missing' } }],
])('for a domain receivers find %s', async (_, zone, expected) => {
  const dns = await startFakeDns(zone)
  const resolver = dnsResolver({ servers: [dns.server] })
  expect(await findDmarc('a.b.shop.test', resolver)).toMatchObject(expected)
  resolver.close()
  await dns.close()
})

test('a server that does not answer leaves the policy unknown', async () => {
  const dns = await startFakeDns({ '_dmarc.shop.test': 'servfail' })
  const resolver = dnsResolver({ servers: [dns.server] })
  expect(await findDmarc('a.shop.test', resolver)).toBeNull()
  resolver.close()
  await dns.close()
})

// The example of RFC 9989 4.10: at most eight names are asked about.
test.each([
  [
    'a.b.c.d.e.f.g.h.i.j.mail.shop.test',
    ['', 'g.h.i.j.mail.shop.test', 'h.i.j.mail.shop.test', 'i.j.mail.shop.test', 'j.mail.shop.test', 'mail.shop.test', 'shop.test', 'test'],
  ],
  ['mail.shop.test', ['', 'shop.test', 'test']],
])('the walk from %s', async (domain, above) => {
  const asked: string[] = []
  const txt = async (name: string) => (asked.push(name), { status: 'nxdomain' as const, records: [], ttl: 0, secure: false })
  expect(await findOrganizationalDomain(domain, { txt })).toBe(domain)
  expect(asked).toEqual(above.map((name) => `_dmarc.${name || domain}`))
})

// The rules of RFC 9989 4.10.2, in their order.
test.each<[string, Record<string, string>, string]>([
  ['a.mail.shop.test', { 'shop.test': 'p=none' }, 'shop.test'],
  ['a.mail.shop.test', { 'mail.shop.test': 'p=none', 'shop.test': 'p=none' }, 'shop.test'],
  ['a.mail.shop.test', { 'mail.shop.test': 'p=none; psd=n', 'shop.test': 'p=none' }, 'mail.shop.test'],
  ['a.mail.shop.test', { 'shop.test': 'p=none; psd=y' }, 'mail.shop.test'],
  ['a.mail.shop.test', { 'mail.shop.test': 'p=none', 'shop.test': 'p=none; psd=y' }, 'mail.shop.test'],
  ['a.mail.shop.test', { 'a.mail.shop.test': 'p=none', test: 'p=reject; psd=y' }, 'shop.test'],
  // A public suffix that sends mail itself.
  ['shop.test', { 'shop.test': 'p=none; psd=y' }, 'shop.test'],
  ['shop.test', { 'shop.test': 'p=none; psd=y', test: 'p=none' }, 'test'],
  // What is no record counts as none.
  ['a.shop.test', { 'a.shop.test': 'p=none', 'shop.test': 'p=nonsense' }, 'a.shop.test'],
])('the organizational domain of %s with %j is %s', async (domain, policies, expected) => {
  const answer = (text: string | undefined) => ({
    status: text === undefined ? ('nxdomain' as const) : ('ok' as const),
    records: text === undefined ? [] : [`v=DMARC1; ${text}`],
    ttl: 0,
    secure: false,
  })
  const txt = async (name: string) => answer(policies[name.replace('_dmarc.', '')])
  expect(await findOrganizationalDomain(domain, { txt })).toBe(expected)
})

test.each([
  ['shop.test', 'p=reject; sp=none', true, 'reject'],
  ['a.shop.test', 'p=reject; sp=none', true, 'none'],
  ['a.shop.test', 'p=reject', true, 'reject'],
  ['a.shop.test', 'p=none; np=reject', true, 'none'],
  ['a.shop.test', 'p=none; np=reject', false, 'reject'],
  ['a.shop.test', 'p=none; sp=quarantine', false, 'quarantine'],
  ['shop.test', 'p=reject; t=y', true, 'quarantine'],
  ['shop.test', 'p=quarantine; t=y', true, 'none'],
  ['a.shop.test', 'p=none; np=reject; t=y', false, 'quarantine'],
  ['shop.test', 'p=reject; pct=0', true, 'reject'],
] as const)('mail from %s, which fails, by %j of shop.test (its name exists: %s): %s', (domain, text, exists, expected) => {
  expect(appliedPolicy(domain, 'shop.test', readDmarc([`v=DMARC1; ${text}`]) as DmarcRecord, exists)).toBe(expected)
})

test('changing the policy leaves the rest of the record unchanged', () => {
  expect(withPolicy('v=DMARC1; p=none; rua=mailto:a@b.example!10m,mailto:c@d.example; adkim=s;', 'quarantine')).toBe(
    'v=DMARC1; p=quarantine; rua=mailto:a@b.example!10m,mailto:c@d.example; adkim=s',
  )
  expect(withPolicy('v=DMARC1;p = quarantine;pct=10;t=y', 'reject')).toBe('v=DMARC1; p=reject')
  expect(withPolicy('v=DMARC1; rua=mailto:a@b.example', 'none')).toBe('v=DMARC1; p=none; rua=mailto:a@b.example')
})
