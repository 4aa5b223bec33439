import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fingerprintOf, openKeyFile } from '../../../src/senders/account/key-file.ts'
import { noteFingerprint } from '../../../src/senders/account/sealed-secrets.ts'
import { loadConfig } from '../../../src/platform/config/load-config.ts'
import type { ListedNode } from '../../../src/platform/store/node-rows.ts'
import type { DoctorHost } from '../../../src/upkeep/doctor/doctor-host.ts'
import { runDoctor } from '../../../src/upkeep/doctor/run-doctor.ts'
import { domainObject } from '../../../src/senders/sending-domain/domain-object.ts'
import type { Domain } from '../../../src/senders/sending-domain/domain.ts'
import { recordsFor } from '../../../src/senders/sending-domain/domain-records.ts'
import { onFileFinished } from '../../support/file-finished.ts'
import { fakeResolver, type FakeNameTable } from '../../support/fake-resolver.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { testStore } from '../../support/test-database.ts'

const keys = temporaryDirectory()
onFileFinished(async () => keys.remove())
const env = { STERNA_DATA_DIR: '/data', STERNA_SECRET_KEY_FILE: join(keys.path, 'secret.key') }

const config = loadConfig({
  env: {
    ...env,
    STERNA_HOSTNAME: 'mail.shop.test',
    STERNA_BASE_URL: 'https://mail.shop.test',
    STERNA_DOCTOR_PORT_25_HOSTS: 'mx.big.test',
    STERNA_DOCTOR_DNSBLS: 'bl.test',
    STERNA_DOCTOR_NTP_SERVER: 'ntp.test',
  },
})

const domain: Domain = {
  id: 'dom_1',
  accountId: 'acc_1',
  name: 'shop.test',
  status: 'verified',
  ...domainObject.initial,
  returnPathSeen: true,
  appLinks: {},
  checkedAt: 0,
  verifiedAt: 0,
  missingSince: null,
  createdAt: 0,
  removedAt: null,
  keys: [
    { id: 'dk_1', selector: 's1', algorithm: 'rsa-sha256', publicKey: 'MII=', state: 'active', seenAt: 0, keepUntil: null, createdAt: 0 },
  ],
  records: {},
  revision: 0,
}
const records = recordsFor(domain, { hostname: 'mail.shop.test', trackingHost: 'mail.shop.test', takesReports: false })

const healthy: FakeNameTable = {
  org: { ns: ['a0.org.test'], secure: true },
  'mx.big.test': { a: ['198.51.100.1'] },
  'mail.shop.test': { a: ['8.8.8.8'], txt: ['v=spf1 a:mail.shop.test ~all'] },
  '8.8.8.8.in-addr.arpa': { ptr: ['mail.shop.test'] } as object,
  '2.0.0.127.bl.test': { a: ['127.0.0.2'] },
  'ntp.test': { a: ['198.51.100.2'] },
  's1._domainkey.shop.test': { txt: ['v=DKIM1; k=rsa; p=MII='] },
  'send.shop.test': { mx: [[10, 'mail.shop.test']], txt: ['v=spf1 a:mail.shop.test ~all'] },
  '_dmarc.shop.test': { txt: ['v=DMARC1; p=none'] },
}

const host: DoctorHost = {
  interfaceAddresses: () => ['127.0.0.1', '8.8.8.8'],
  greet: (address) => Promise.resolve({ line: address === '8.8.8.8' ? '220 mail.shop.test ESMTP' : '220 mx.big.test' }),
  isLocalAddress: () => Promise.resolve(true),
  askHealth: () => Promise.resolve('sterna'),
  clockOffset: () => Promise.resolve(5),
  diskSpace: () => Promise.resolve({ free: 50 * 1024 ** 3, size: 100 * 1024 ** 3 }),
  mode: () => Promise.resolve(0o700),
  read: () => Promise.resolve(null),
  openFileLimit: () => 65_536,
}

async function statuses(names: FakeNameTable, changes: Partial<DoctorHost> = {}, settings = config, nodes: ListedNode[] = []) {
  const fake = fakeResolver(names)
  const ptr = async (name: string) => {
    const entry = names[name] as { ptr?: string[] } | string | undefined
    const found = typeof entry === 'object' ? (entry.ptr ?? []) : []
    return {
      status: entry === 'servfail' ? ('servfail' as const) : found.length > 0 ? ('ok' as const) : ('nxdomain' as const),
      records: found,
      ttl: 0,
      secure: false,
    }
  }
  const resolver = { ...fake, eachServer: [], ptr, close: () => {} }
  const { db, files } = await testStore()
  await db.write([noteFingerprint(fingerprintOf(openKeyFile(settings.secretKeyFile)))])
  const services = {
    config: settings,
    clock: settableClock(),
    resolver,
    nodes,
    newestTime: null,
    db,
    files,
    smarthostLogin: async () => [],
  }
  const findings = await runDoctor({ ...services, domains: [{ domain, records }], host: { ...host, ...changes } })
  for (const { status, advice } of findings) expect(advice === null).toBe(status === 'ok')
  return findings.map(({ check, status }) => `${check} ${status}`)
}

const allOk = [
  'resolver ok',
  'dnssec ok',
  'port_25 ok',
  'host_name ok',
  'reverse_dns ok',
  'return_path ok',
  'return_path ok',
  'return_path ok',
  'reachable ok',
  'domain ok',
  'domain ok',
  'certificate skipped',
  'base_url ok',
  'clock ok',
  'disk ok',
  'data_directory ok',
  'key_file ok',
  'open_files ok',
  'dnsbl ok',
]
const but = (...others: string[]) => allOk.map((line) => others.find((other) => other.split(' ')[0] === line.split(' ')[0]) ?? line)
const greeting = '220 mail.shop.test ESMTP'

test('IPv6 in the DNS, but not at our ports, nor with a reverse name', async () => {
  const names = { 'mail.shop.test': { a: ['8.8.8.8'], aaaa: ['2a00::8'], txt: ['v=spf1 a:mail.shop.test ~all'] } }
  const greet: DoctorHost['greet'] = async (address) =>
    address === '2a00::8' ? { fault: 'connect ECONNREFUSED 2a00::8:25' } : host.greet(address, 25)
  const settings = loadConfig({
    env: {
      ...env,
      STERNA_HOSTNAME: 'mail.shop.test',
      STERNA_RETURN_PATH_LISTEN: '0.0.0.0:2525',
      STERNA_DOCTOR_PORT_25_HOSTS: 'mx.big.test',
    },
  })
  const found = await statuses({ ...healthy, ...names }, { interfaceAddresses: () => ['8.8.8.8', '2a00::8'], greet }, settings)
  expect(found).toEqual(expect.arrayContaining(['reachable failed', 'reverse_dns ok', 'reverse_dns failed', 'return_path warning']))
})

test('a server as it should be', async () => expect(await statuses(healthy)).toEqual(allOk))

test.each<[string, FakeNameTable, Partial<DoctorHost>, string[]]>([
  [
    'port 25 is closed outward',
    {},
    { greet: async (address) => (address === '8.8.8.8' ? { line: greeting } : { fault: 'no answer' }) },
    ['port_25 failed'],
  ],
  ['something else answers at base_url', {}, { askHealth: async () => 'other' }, ['base_url failed']],
  ['no reverse name', { '8.8.8.8.in-addr.arpa': 'nxdomain' }, {}, ['reverse_dns failed']],
  ['the reverse name cannot be looked up', { '8.8.8.8.in-addr.arpa': 'servfail' }, {}, ['reverse_dns skipped']],
  ['on a blocklist', { '8.8.8.8.bl.test': { a: ['127.0.0.2'] } }, {}, ['dnsbl failed']],
  ['the clock is wrong', {}, { clockOffset: () => Promise.resolve(3_600_000) }, ['clock failed']],
  ['the disk is full', {}, { diskSpace: () => Promise.resolve({ free: 0, size: 100 }) }, ['disk failed']],
  ['everybody may read', {}, { mode: () => Promise.resolve(0o755) }, ['data_directory warning']],
  ['few files may be open', {}, { openFileLimit: () => 1_024 }, ['open_files warning']],
  ['no DNSSEC', { org: { ns: ['a0.org.test'] } }, {}, ['dnssec warning']],
])('%s', async (_, names, changes, expected) => expect(await statuses({ ...healthy, ...names }, changes)).toEqual(but(...expected)))

test.each<[string, FakeNameTable, string[]]>([
  ['at the return path of the domain', { '_dmarc.shop.test': { txt: ['v=DMARC1; p=none; rua=mailto:dmarc-reports@send.shop.test'] } }, []],
  [
    'elsewhere',
    { '_dmarc.shop.test': { txt: ['v=DMARC1; p=none; rua=mailto:dmarc-reports@bounces.relay.test!10m, mailto:a@shop.test'] } },
    ['domain warning'],
  ],
  [
    'elsewhere, where they are taken',
    {
      '_dmarc.shop.test': { txt: ['v=DMARC1; p=none; rua=mailto:dmarc-reports@bounces.relay.test'] },
      'shop.test._report._dmarc.bounces.relay.test': { txt: ['v=DMARC1'] },
    },
    [],
  ],
  [
    'elsewhere, which cannot be looked up',
    { '_dmarc.shop.test': { txt: ['v=DMARC1; rua=mailto:a@b.test'] }, 'shop.test._report._dmarc.b.test': 'servfail' },
    [],
  ],
])('DMARC reports are to go %s', async (_, names, expected) => {
  expect((await statuses({ ...healthy, ...names })).filter((line) => line.startsWith('domain'))).toEqual([
    'domain ok',
    'domain ok',
    ...expected,
  ])
})

test('port 25 of our own name is closed inward', async () => {
  const greet: DoctorHost['greet'] = async (address) => (address === '8.8.8.8' ? { fault: 'no answer' } : { line: '220 mx.big.test' })
  const found = await statuses(healthy, { greet })
  expect(found.filter((line) => line.startsWith('return_path'))).toEqual(['return_path ok', 'return_path ok', 'return_path warning'])
})

test('records that are missing, each domain by itself', async () => {
  const { 's1._domainkey.shop.test': _key, '_dmarc.shop.test': _dmarc, ...rest } = healthy
  expect((await statuses(rest)).filter((line) => line.startsWith('domain'))).toEqual(['domain failed', 'domain warning'])
})

test('behind a translation of addresses the name tells where mail comes from; without either nothing is known', async () => {
  const inside = { interfaceAddresses: () => ['10.0.0.2'] }
  expect(await statuses(healthy, inside)).toEqual(allOk)
  const { 'mail.shop.test': _, ...nameless } = healthy
  const unknown = but('host_name failed', 'reverse_dns skipped', 'dnsbl skipped', 'return_path warning')
  // Without an MX that leads here, nothing is asked at port 25.
  unknown.splice(unknown.indexOf('return_path warning'), 1)
  unknown.splice(unknown.indexOf('reachable ok'), 1)
  expect(await statuses(nameless, inside)).toEqual(unknown)
})

test('the addresses of all nodes need a place in the DNS, a reverse name and a good reputation', async () => {
  const other = { id: 'node_2', machine: 'two', version: '1', startedAt: 0, heardAt: 0, addresses: ['8.8.8.8', '9.9.9.9'], faults: [] }
  const beside = but('host_name warning', 'dnsbl failed')
  beside.splice(beside.indexOf('reverse_dns ok') + 1, 0, 'reverse_dns failed')
  expect(await statuses({ ...healthy, '9.9.9.9.bl.test': { a: ['127.0.0.2'] } }, {}, config, [other])).toEqual(beside)
})

const sourcesSet = () =>
  loadConfig({
    env: {
      ...env,
      STERNA_HOSTNAME: 'mail.shop.test',
      STERNA_DOCTOR_PORT_25_HOSTS: 'mx.big.test',
      STERNA_DOCTOR_DNSBLS: 'bl.test',
      STERNA_DELIVERY_SOURCE_ADDRESSES: '8.8.8.8, 9.9.9.9 two.shop.test',
    },
  })
const about = (found: string[]): string[] => found.filter((line) => /^(port_25|host_name|reverse_dns|dnsbl) /.test(line))

test('each source address is proved by itself: its name, its reverse name, its port 25 and its reputation', async () => {
  const second = { 'two.shop.test': { a: ['9.9.9.9'] }, '9.9.9.9.in-addr.arpa': { ptr: ['two.shop.test'] } as never }
  expect(about(await statuses({ ...healthy, ...second }, {}, sourcesSet()))).toEqual([
    'port_25 ok',
    'port_25 ok',
    'port_25 ok',
    'host_name ok',
    'host_name ok',
    'reverse_dns ok',
    'reverse_dns ok',
    'dnsbl ok',
  ])
})

test('a source address is faulty that the machine lacks, that reaches nobody, that has no name, or that is listed', async () => {
  const greet: DoctorHost['greet'] = async (address, port, isTls, from) =>
    from === '8.8.8.8' ? { fault: 'connect ETIMEDOUT' } : host.greet(address, port, isTls)
  const isLocalAddress = async (address: string) => address !== '9.9.9.9'
  const listed = { '9.9.9.9.bl.test': { a: ['127.0.0.2'] } }
  expect(about(await statuses({ ...healthy, ...listed }, { greet, isLocalAddress }, sourcesSet()))).toEqual([
    'port_25 ok',
    'port_25 failed',
    'port_25 failed',
    'host_name ok',
    'host_name failed',
    'reverse_dns ok',
    'reverse_dns failed',
    'dnsbl failed',
  ])
})

test('with a smarthost, and in the sandbox, there is less to look at', async () => {
  const names: FakeNameTable = { ...healthy, 'out.test': { a: ['198.51.100.3'] } }
  const named = { STERNA_HOSTNAME: 'mail.shop.test', STERNA_BASE_URL: 'https://mail.shop.test' }
  const smarthost = loadConfig({ env: { ...env, ...named, STERNA_DELIVERY_SMARTHOST: 'out.test:587' } })
  expect(await statuses(names, {}, smarthost)).toEqual(but('reverse_dns skipped', 'dnsbl skipped', 'clock skipped'))
  const sandbox = loadConfig({ env: { ...env, ...named, STERNA_MODE: 'sandbox', STERNA_DOCTOR_DNSBLS: 'none' } })
  expect(await statuses(names, {}, sandbox)).toEqual(but('port_25 skipped', 'dnsbl skipped', 'clock skipped'))
})
