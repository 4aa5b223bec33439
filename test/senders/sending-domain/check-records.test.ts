import { expect, onTestFinished, test } from 'vitest'
import { withDoubledNames } from '../../../src/senders/sending-domain/domain-checks.ts'
import { dnsResolver } from '../../../src/platform/dns/dns-resolver.ts'
import { allowsHost, checkRecords, isSameKey, pointsTo } from '../../../src/senders/sending-domain/check-records.ts'
import type { DnsRecord } from '../../../src/senders/sending-domain/domain-records.ts'
import { startFakeDns } from '../../support/fake-dns.ts'

const key = 'MIIBIjANBgkq+/=='
const wanted = `v=DKIM1; k=rsa; p=${key}`

test.each([
  [wanted, true],
  [`v=DKIM1;k=rsa;p=${key};`, true],
  [`p=MIIBIj ANBgkq\t+/==; k=RSA ;v=DKIM1`, true],
  [`p=${key}`, true],
  [`${wanted}; s=email; h=sha1:sha256; t=y; n=note`, true],
  [`${wanted}; s=other`, false],
  [`${wanted}; h=sha1`, false],
  [`v=DKIM1; k=ed25519; p=${key}`, false],
  [`v=DKIM2; p=${key}`, false],
  ['v=DKIM1; k=rsa; p=', false],
  ['v=DKIM1; k=rsa', false],
  [wanted.replace('MII', 'mii'), false],
  [`"${wanted}"`, false],
  ['', false],
])('DKIM record %j: %s', (published, expected) => {
  expect(isSameKey(published, wanted)).toBe(expected)
})

test.each([
  [['v=spf1 a:relay.example ~all'], true],
  [['other', ' V=SPF1  mx +A:Relay.Example -all '], true],
  [['v=spf1 a:relay.example'], true],
  [['v=spf1 include:x.test a:relay.example redirect=y.test'], true],
  [['v=spf1 ~all a:relay.example'], false],
  [['v=spf1 -a:relay.example ~all'], false],
  [['v=spf1 a:relay.example.com ~all'], false],
  [['v=spf1 a:relay.example ~all', 'v=spf1 mx -all'], false],
  [['v=spf10 a:relay.example ~all'], false],
  [['v=spf1'], false],
  [[], false],
])('SPF records %j: %s', (texts, expected) => {
  expect(allowsHost(texts, 'send.shop.test', 'relay.example')).toBe(expected)
})

test.each([
  [[[10, 'relay.example']], true],
  [
    [
      [10, 'RELAY.example'],
      [20, 'backup.test'],
    ],
    true,
  ],
  [
    [
      [10, 'backup.test'],
      [10, 'relay.example'],
    ],
    true,
  ],
  [
    [
      [10, 'backup.test'],
      [20, 'relay.example'],
    ],
    false,
  ],
  [[[0, '']], false],
  [[], false],
] as [[number, string][], boolean][])('MX records %j: %s', (hosts, expected) => {
  expect(
    pointsTo(
      hosts.map(([preference, exchange]) => ({ preference, exchange })),
      'relay.example',
    ),
  ).toBe(expected)
})

test('present, missing and unknown are told apart, with what is there instead', async () => {
  const dns = await startFakeDns({
    's1._domainkey.shop.test': { txt: ['v=DKIM1; p=other\u001b[31m'] },
    'send.shop.test': { mx: [[10, 'relay.example']], txt: ['v=spf1 a:relay.example ~all'] },
    's2._domainkey.shop.test': 'servfail',
  })
  onTestFinished(() => dns.close())
  const resolver = dnsResolver({ servers: [dns.server] })
  const records: DnsRecord[] = [
    { kind: 'dkim-rsa', record: 'DKIM', name: 's1._domainkey.shop.test', type: 'TXT', value: wanted },
    { kind: 'dkim-ed25519', record: 'DKIM', name: 's2._domainkey.shop.test', type: 'TXT', value: wanted },
    { kind: 'return-path-mx', record: 'SPF', name: 'send.shop.test', type: 'MX', value: 'relay.example', priority: 10 },
    { kind: 'return-path-spf', record: 'SPF', name: 'send.shop.test', type: 'TXT', value: 'v=spf1 a:relay.example ~all' },
    { kind: 'dmarc', record: 'DMARC', name: '_dmarc.shop.test', type: 'TXT', value: 'v=DMARC1; p=none' },
  ]
  expect(await checkRecords(records, resolver)).toEqual([
    { kind: 'dkim-rsa', isPresent: false, reason: 'differs', found: 'v=DKIM1; p=other\ufffd[31m' },
    { kind: 'dkim-ed25519', isPresent: null, reason: 'unreachable', found: null },
    { kind: 'return-path-mx', isPresent: true, reason: null, found: '10 relay.example' },
    { kind: 'return-path-spf', isPresent: true, reason: null, found: 'v=spf1 a:relay.example ~all' },
    { kind: 'dmarc', isPresent: false, reason: 'missing', found: null },
  ])
})

test('several SPF records, and names to which a provider has appended the zone, are told apart', async () => {
  const spf = 'v=spf1 a:relay.example ~all'
  const dns = await startFakeDns({
    'two.shop.test': { txt: [spf, 'v=spf1 -all'] },
    'send.shop.test.shop.test': { mx: [[10, 'relay.example']], txt: ['v=spf1 a:elsewhere.example ~all'] },
  })
  onTestFinished(() => dns.close())
  const resolver = dnsResolver({ servers: [dns.server] })
  const records: DnsRecord[] = [
    { kind: 'dkim-rsa', record: 'SPF', name: 'two.shop.test', type: 'TXT', value: spf },
    { kind: 'return-path-mx', record: 'SPF', name: 'send.shop.test', type: 'MX', value: 'relay.example', priority: 10 },
    { kind: 'return-path-spf', record: 'SPF', name: 'send.shop.test', type: 'TXT', value: spf },
  ]
  const findings = await checkRecords(records, resolver)
  expect(findings.map(({ reason }) => reason)).toEqual(['several', 'missing', 'missing'])
  const named = await withDoubledNames(findings, records, { zone: 'shop.test', resolver })
  expect(named.map(({ reason }) => reason)).toEqual(['several', 'doubled_name', 'missing'])
})

test.each<[DnsRecord['record'], string, string[], string | null]>([
  ['DKIM', wanted, [wanted], null],
  ['DKIM', wanted, [wanted, 'v=DKIM1; k=rsa; p=old'], 'several'],
  ['DKIM', wanted, [wanted, 'a note'], null],
  ['DKIM', wanted, [`"${wanted}"`], 'quoted'],
  ['DKIM', wanted, [wanted.replaceAll(';', '\\;')], 'quoted'],
  ['DKIM', wanted, [`"${wanted.slice(0, 30)}" "${wanted.slice(30)}"`], 'quoted'],
  ['DKIM', wanted, ['"v=DKIM1; k=rsa; p=old"'], 'differs'],
  ['SPF', 'v=spf1 a:relay.example ~all', ['"v=spf1 a:relay.example ~all"'], 'quoted'],
  ['SPF', 'v=spf1 a:relay.example ~all', ['v=spf1 a:relay.example ~all', 'v=spf1 mx -all'], 'several'],
  ['SPF', 'v=spf1 a:relay.example ~all', ['v=spf1 mx -all'], 'differs'],
  ['DMARC', 'v=DMARC1; p=none', ['v=DMARC1; p=reject'], null],
  ['DMARC', 'v=DMARC1; p=none', ['v=DMARC1; p=none', 'v=DMARC1; p=reject'], 'several'],
  ['DMARC', 'v=DMARC1; p=none', ['v=DMARC1\\; p=none'], 'quoted'],
  ['DMARC', 'v=DMARC1; p=none', ['"v=DMARC1; p=none"'], 'quoted'],
  ['DMARC', 'v=DMARC1; p=none', ['p=none; v=DMARC1'], 'differs'],
])('a %s record as %j and %j: %s', async (record, value, txt, reason) => {
  const dns = await startFakeDns({ 'name.shop.test': { txt } })
  onTestFinished(() => dns.close())
  const wantedRecord: DnsRecord = { kind: 'dmarc', record, name: 'name.shop.test', type: 'TXT', value }
  const [finding] = await checkRecords([wantedRecord], dnsResolver({ servers: [dns.server] }))
  expect(finding).toMatchObject({ reason, isPresent: reason === null })
})

test('what is found has one line per record, whatever a record contains', async () => {
  const dns = await startFakeDns({ '_dmarc.shop.test': { txt: ['a note\nv=DMARC1; p=reject', 'v=DMARC1; p=none'] } })
  onTestFinished(() => dns.close())
  const record: DnsRecord = { kind: 'dmarc', record: 'DMARC', name: '_dmarc.shop.test', type: 'TXT', value: 'v=DMARC1; p=none' }
  const [finding] = await checkRecords([record], dnsResolver({ servers: [dns.server] }))
  expect(finding?.found?.split('\n').toSorted()).toEqual(['a note\ufffdv=DMARC1; p=reject', 'v=DMARC1; p=none'])
})
