import { generateKeyPairSync } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { AuditLog } from '../../../src/senders/account/audit-log.ts'
import { secretsFrom } from '../../../src/senders/account/key-file.ts'
import { dnsResolver } from '../../../src/platform/dns/dns-resolver.ts'
import { domainOperations } from '../../../src/api/resource/domain-operations.ts'
import type { ServerRecord } from '../../../src/senders/sending-domain/server-records.ts'
import { SendingDomains } from '../../../src/senders/sending-domain/sending-domains.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import { startApiServer } from '../../support/api-server.ts'
import { accountPolicies } from '../../support/account-policies.ts'
import { startFakeDns } from '../../support/fake-dns.ts'

const settings = {
  hostname: 'relay.example',
  trackingHost: 'web.example',
  returnPathDomain: 'bounces.example',
  takesReports: true,
  keepOldKeysMs: 86_400_000,
}

async function startApi() {
  const dns = await startFakeDns()
  onTestFinished(() => dns.close())
  let domains: SendingDomains | undefined
  const api = await startApiServer(({ db, clock, log }) => {
    const resolver = dnsResolver({ servers: [dns.server], now: clock.now })
    onTestFinished(() => resolver.close())
    domains = new SendingDomains({
      db,
      clock,
      changes: aloneWithChanges,
      log,
      resolver,
      audit: new AuditLog({ db, clock }),
      policies: accountPolicies(db),
      secrets: secretsFrom(Buffer.alloc(32, 1)),
      settings,
    })
    return domainOperations({ sendingDomains: domains, ownRecords: async () => ofServer })
  })
  const token = await api.token()
  const call = (method: string, path: string, body?: unknown, key = token) =>
    api.request(method, `/api/domains${path}`, { token: key, ...(body === undefined ? {} : { body }) })
  return { ...api, dns, domains: domains as SendingDomains, call }
}

/** What the server itself needs; its name is below one of the domains. */
const ofServer: ServerRecord[] = [
  { name: 'mail.server.example', type: 'A', value: '192.0.2.1' },
  { name: '1.2.0.192.in-addr.arpa', type: 'PTR', value: 'mail.server.example' },
]

test('the records of a domain are there as a zone file, with those of the server in its own zone', async () => {
  const { call } = await startApi()
  for (const name of ['shop.example', 'server.example']) await call('POST', '', { name })
  const { headers, text } = await call('GET', '/shop.example/zone')
  expect(headers.get('content-type')).toBe('text/dns')
  expect(text.split('\n')).toContain(`send.shop.example.\t3600\tIN\tMX\t10 ${settings.hostname}.`)
  expect(text).toMatch(/^\S+\._domainkey\.shop\.example\.\t3600\tIN\tTXT\t"v=DKIM1; k=rsa; p=[^"]{237}" "[^"]+"$/m)
  expect(text).not.toContain('192.0.2.1')
  const ofOwnZone = (await call('GET', '/server.example/zone')).text
  expect(ofOwnZone).toContain('mail.server.example.\t3600\tIN\tA\t192.0.2.1\n')
  expect(ofOwnZone).not.toContain('PTR')
})

test('a domain is added, published, verified, changed and removed', async () => {
  const { call, dns, domains } = await startApi()
  const made = await call('POST', '', {
    name: 'Bücher.Example',
    region: 'eu-west-1',
    capabilities: { sending: 'enabled' },
    open_tracking: false,
    tracking_subdomain: 'links',
  })
  expect(made.status).toBe(201)
  expect(made.body).toMatchObject({
    object: 'domain',
    id: expect.stringMatching(/^dom_/),
    name: 'xn--bcher-kva.example',
    status: 'not_started',
    region: 'self-hosted',
    capabilities: { sending: 'enabled', receiving: 'disabled' },
    open_tracking: false,
    tracking_subdomain: 'links',
    tls: 'opportunistic',
    subdomains: true,
    return_path: 'send.xn--bcher-kva.example',
  })
  const records = made.body['records'] as { record: string; type: string; name: string; value: string }[]
  expect(records.map(({ record, type }) => [record, type])).toEqual([
    ['DKIM', 'TXT'],
    ['DKIM', 'TXT'],
    ['SPF', 'MX'],
    ['SPF', 'TXT'],
    ['DMARC', 'TXT'],
    ['Tracking', 'CNAME'],
  ])
  expect(records[5]).toMatchObject({
    name: 'links.xn--bcher-kva.example',
    value: 'web.example',
    status: 'not_started',
    found: null,
    checked_at: null,
    host: 'links',
    required: false,
    reason: null,
    key: null,
  })
  expect(made.body).toMatchObject({ zone: 'xn--bcher-kva.example', next_check_at: '2026-11-21T06:10:00.000Z', stops_at: null })
  const id = String(made.body['id'])
  expect((await call('GET', `/${id}`)).body).toEqual(made.body)
  expect((await call('GET', `/${encodeURIComponent('bücher.example')}`)).body).toEqual(made.body)
  expect((await call('GET', '')).body).toEqual({ object: 'list', has_more: false, data: [made.body] })

  dns.zone['send.xn--bcher-kva.example'] = { txt: ['v=spf1 -all'] }
  dns.zone['_dmarc.xn--bcher-kva.example.xn--bcher-kva.example'] = { txt: ['v=DMARC1; p=none'] }
  expect(await call('POST', `/${id}/verify`)).toMatchObject({ status: 200, body: { object: 'domain', id } })
  const again = await call('POST', `/${id}/verify`)
  expect([again.status, again.body.name, again.headers.get('retry-after')]).toEqual([429, 'rate_limit_exceeded', '10'])
  await domains.verify(id)
  const pending = (await call('GET', `/${id}`)).body
  expect(pending).toMatchObject({ status: 'pending', checked_at: '2026-11-21T06:00:00.000Z' })
  expect((pending['records'] as unknown[])[3]).toMatchObject({
    value: 'v=spf1 a:relay.example ~all',
    found: 'v=spf1 -all',
    status: 'pending',
    host: 'send',
    required: true,
    reason: 'differs',
  })

  expect((pending['records'] as unknown[])[4]).toMatchObject({ host: '_dmarc', reason: 'doubled_name', found: null })
  expect((await call('PATCH', `/${id}`, { tls: 'enforced', tracking_subdomain: null, subdomains: false })).body).toEqual({
    object: 'domain',
    id,
  })
  expect((await call('GET', `/${id}`)).body).toMatchObject({ tls: 'enforced', tracking_subdomain: null, subdomains: false })
  expect((await call('DELETE', `/${id}`)).body).toEqual({ object: 'domain', id, deleted: true })
  expect((await call('GET', `/${id}`)).status).toBe(404)
  expect((await call('POST', '', { name: 'bücher.example' })).status).toBe(201)
})

test('new keys are shown, but never the private one that was brought along', async () => {
  const { call, domains, logged } = await startApi()
  const id = String((await call('POST', '', { name: 'shop.example' })).body['id'])
  await domains.verifyManually(id)
  const pem = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs1', format: 'pem' }).toString()
  const rotated = await call('POST', `/${id}/dkim/rotate`, { dkim_selector: 's2027', dkim_private_key: pem })
  expect(rotated.status).toBe(200)
  const names = (rotated.body['records'] as { name: string }[]).map(({ name }) => name)
  expect(names).toContain('s2027._domainkey.shop.example')
  expect(await call('POST', `/${id}/dkim/rotate`)).toMatchObject({ status: 409, body: { name: 'rotation_in_progress' } })
  expect(await call('POST', `/${id}/dkim/rotate`, { force: true })).toMatchObject({ status: 200 })
  expect([rotated.text, ...logged].join('\n')).not.toContain(pem.split('\n')[1])
})

test.each([
  [{}, 422, 'missing_required_field'],
  [{ name: 'co.uk' }, 422, 'validation_error'],
  [{ name: '192.0.2.1' }, 422, 'validation_error'],
  [{ name: 'localhost' }, 422, 'validation_error'],
  [{ name: 'xn--a.example' }, 422, 'validation_error'],
  [{ name: 'a..example' }, 422, 'validation_error'],
  [{ name: 'taken.example' }, 409, 'domain_exists'],
  [{ name: 'a.example', open_tracking: 'yes' }, 422, 'validation_error'],
  [{ name: 'a.example', app_links: { 'robots.txt': {} } }, 422, 'validation_error'],
  [{ name: 'a.example', tls: 'none' }, 422, 'validation_error'],
  [{ name: 'a.example', custom_return_path: 'a.b' }, 422, 'validation_error'],
  [{ name: 'a.example', tracking_subdomain: 'send' }, 422, 'validation_error'],
  [{ name: 'a.example', dkim_selector: 'a_b' }, 422, 'validation_error'],
  [{ name: 'a.example', dkim_private_key: 'x' }, 422, 'validation_error'],
])('%j is refused', async (body, status, name) => {
  const { call } = await startApi()
  await call('POST', '', { name: 'taken.example' })
  expect(await call('POST', '', body)).toMatchObject({ status, body: { name } })
  expect(((await call('GET', '')).body['data'] as unknown[]).length).toBe(1)
})

test("another account's domain does not exist, and pages follow one another", async () => {
  const { call, clock, token } = await startApi()
  const ids: string[] = []
  for (const name of ['a.example', 'b.example', 'c.example']) {
    ids.unshift(String((await call('POST', '', { name })).body['id']))
    clock.advance(1)
  }
  const other = await token({ account: 'other' })
  for (const [method, path] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/verify'],
    ['POST', '/dkim/rotate'],
  ] as const) {
    for (const target of [ids[0], 'a.example', 'dom_00000000000000000000000000']) {
      const answer = await call(method, `/${target}${path}`, method === 'PATCH' ? {} : undefined, other)
      expect([answer.status, answer.body.name]).toEqual([404, 'not_found'])
    }
  }
  const page = async (query: string) => {
    const { body } = await call('GET', `?${query}`)
    return [(body['data'] as { id: string }[]).map(({ id }) => ids.indexOf(id)), body['has_more']]
  }
  expect(await page('limit=2')).toEqual([[0, 1], true])
  expect(await page(`limit=2&after=${ids[1]}`)).toEqual([[2], false])
  expect(await page(`limit=1&before=${ids[2]}`)).toEqual([[1], true])
})
