import { createPublicKey } from 'node:crypto'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { secretsFrom } from '../../src/account/key-file.ts'
import { dnsResolver } from '../../src/dns/dns-resolver.ts'
import { DkimSigner } from '../../src/delivery/dkim-sign.ts'
import { createLog } from '../../src/log.ts'
import { SendingDomains } from '../../src/sending-domain/sending-domains.ts'
import { openDatabase } from '../../src/store/sqlite-database.ts'
import { type FakeDns, startFakeDns } from '../support/fake-dns.ts'
import { settableClock } from '../support/settable-clock.ts'
import { testDirectory } from '../support/temporary-directory.ts'

const [minute, hour] = [60_000, 3_600_000]
const settings = {
  hostname: 'relay.example',
  trackingHost: 'links.relay.example',
  returnPathDomain: 'bounces.relay.example',
  keepOldKeysMs: 9 * 24 * hour,
}

let dns: FakeDns
beforeEach(async () => {
  dns = await startFakeDns()
  return () => dns.close()
})

async function setUp() {
  const db = await openDatabase({ directory: testDirectory() })
  const clock = settableClock()
  const resolver = dnsResolver({ servers: [dns.server], now: clock.now })
  const secrets = secretsFrom(Buffer.alloc(32, 3))
  onTestFinished(async () => {
    resolver.close()
    await db.close()
  })
  await db.write(
    ['acc_1', 'acc_2'].map((id) => ({
      sql: "insert into account (id, name, plan, status, created_at) values (:id, :id, 'free', 'active', 0)",
      params: { id },
    })),
  )
  const logged: string[] = []
  const open = async (): Promise<SendingDomains> => {
    const domains = new SendingDomains({ db, secrets, resolver, clock, log: createLog('warn', (line) => logged.push(line)), settings })
    await domains.load()
    return domains
  }
  return { db, clock, logged, open, domains: await open() }
}

/** Publishes what the domain's object asks for. */
function publish(domains: SendingDomains, domain: Parameters<SendingDomains['toObject']>[0]): void {
  for (const { name, type, value, priority } of domains.toObject(domain).records) {
    const entry = dns.zone[name]
    dns.zone[name] = {
      ...(typeof entry === 'object' ? entry : {}),
      ...(type === 'MX' ? { mx: [[priority ?? 0, value]] } : { txt: [value] }),
    }
  }
}

test('a domain from its addition to the signing of its mail', async () => {
  const { domains } = await setUp()
  const domain = await domains.add('acc_1', 'Shop.Test.')
  const object = domains.toObject(domain)
  const [rsaSelector, edSelector] = domain.keys.map(({ selector }) => selector)
  expect(object).toMatchObject({ object: 'domain', id: domain.id, name: 'shop.test', status: 'not_started', created_at: '2026-11-21T06:00:00.000Z' })
  expect(object.records.map(({ record, name, type, ttl, status }) => [record, name, type, ttl, status])).toEqual([
    ['DKIM', `${rsaSelector}._domainkey.shop.test`, 'TXT', 'Auto', 'not_started'],
    ['DKIM', `${edSelector}._domainkey.shop.test`, 'TXT', 'Auto', 'not_started'],
    ['SPF', 'send.shop.test', 'MX', 'Auto', 'not_started'],
    ['SPF', 'send.shop.test', 'TXT', 'Auto', 'not_started'],
    ['DMARC', '_dmarc.shop.test', 'TXT', 'Auto', 'not_started'],
  ])
  expect(object.records[2]).toMatchObject({ value: 'relay.example', priority: 10 })
  expect(object.records[3]?.value).toBe('v=spf1 a:relay.example ~all')
  expect(domains.verifiedDomainFor('acc_1', 'shop.test')).toBeNull()

  publish(domains, domain)
  const verified = await domains.verify(domain.id)
  expect(verified.status).toBe('verified')
  expect(domains.toObject(verified).records.map(({ status }) => status)).toEqual(Array(5).fill('verified'))
  const sender = domains.verifiedDomainFor('acc_1', 'shop.test')
  expect(sender).toMatchObject({ id: domain.id, name: 'shop.test', tls: 'opportunistic', returnPathDomain: 'send.shop.test' })
  expect(sender?.signingKeys.map(({ selector, algorithm, signingDomain }) => [selector, algorithm, signingDomain])).toEqual([
    [rsaSelector, 'rsa-sha256', 'shop.test'],
    [edSelector, 'ed25519-sha256', 'shop.test'],
  ])

  const signer = new DkimSigner()
  for (const { id } of sender?.signingKeys ?? []) signer.addKey(id, domains.privateKey(id))
  expect(await signer.sign(Buffer.from('From: a@shop.test\r\n\r\nx'), sender?.signingKeys ?? [], 0)).toContain(`s=${rsaSelector}`)
  const rsa = createPublicKey({ key: Buffer.from(domain.keys[0]?.publicKey ?? '', 'base64'), format: 'der', type: 'spki' })
  expect(rsa.asymmetricKeyDetails?.modulusLength).toBe(2048)
  expect(Buffer.from(domain.keys[1]?.publicKey ?? '', 'base64')).toHaveLength(32)
})

test('a verified domain speaks for its sub-domains, for its own account, and for nobody above it', async () => {
  const { domains } = await setUp()
  const parent = await domains.verifyManually((await domains.add('acc_1', 'mail.shop.test')).id)
  const below = await domains.add('acc_1', 'own.mail.shop.test')
  expect(domains.verifiedDomainFor('acc_1', 'A.own.Mail.shop.test')?.id).toBe(parent.id)
  await domains.verifyManually(below.id)
  expect(domains.verifiedDomainFor('acc_1', 'a.own.mail.shop.test')?.id).toBe(below.id)
  for (const name of ['shop.test', 'test', 'xmail.shop.test', 'mail.shop.test.evil.test', '']) {
    expect(domains.verifiedDomainFor('acc_1', name)).toBeNull()
  }
  expect(domains.verifiedDomainFor('acc_2', 'mail.shop.test')).toBeNull()
})

test('several accounts may each have a domain, one account has it once', async () => {
  const { clock, domains } = await setUp()
  const mine = await domains.add('acc_1', 'shop.test')
  clock.advance(1)
  const theirs = await domains.add('acc_2', 'shop.test')
  await expect(domains.add('acc_1', 'SHOP.test')).rejects.toMatchObject({ code: 'domain_exists' })
  expect(new Set([...mine.keys, ...theirs.keys].map(({ selector }) => selector)).size).toBe(4)
  expect(domains.get('acc_2', 'shop.test')).toEqual(theirs)
  expect(domains.get('acc_2', theirs.id)).toEqual(theirs)
  expect(() => domains.get('acc_2', mine.id)).toThrow(expect.objectContaining({ code: 'not_found' }))
  expect(domains.find('Shop.Test.').map(({ id }) => id)).toEqual([mine.id, theirs.id])
  expect(domains.list('acc_1')).toEqual([mine])
  await expect(domains.add('acc_1', 'co.uk')).rejects.toMatchObject({ code: 'validation_error' })
  await expect(domains.verify('dom_none')).rejects.toMatchObject({ code: 'not_found' })
})

test('verified by hand both keys sign, and bounces come to the default return path', async () => {
  const { domains } = await setUp()
  const domain = await domains.add('acc_1', 'shop.test', { returnPathLabel: 'Bounce', tls: 'enforced' })
  await domains.verifyManually(domain.id)
  expect(domains.verifiedDomainFor('acc_1', 'shop.test')).toMatchObject({ tls: 'enforced', returnPathDomain: 'bounces.relay.example' })
  expect(domains.senderDomain(domain.id)?.signingKeys).toHaveLength(2)
})

test('everything is there again after a restart, and nothing private in the database', async () => {
  const { db, domains, open } = await setUp()
  const domain = await domains.add('acc_1', 'shop.test')
  publish(domains, domain)
  delete dns.zone[`${domain.keys[1]?.selector}._domainkey.shop.test`]
  const verified = await domains.verify(domain.id)
  const again = await open()
  expect(again.list()).toEqual([verified])
  expect(again.verifiedDomainFor('acc_1', 'shop.test')).toEqual(domains.verifiedDomainFor('acc_1', 'shop.test'))
  expect(again.verifiedDomainFor('acc_1', 'shop.test')?.signingKeys).toHaveLength(1)
  for (const { id } of domain.keys) expect(again.privateKey(id)).toEqual(domains.privateKey(id))
  const [row] = await db.read<{ private_key: Uint8Array }>('select private_key from dkim_key where id = :id', { id: domain.keys[0]?.id ?? '' })
  expect(Buffer.from(row?.private_key ?? []).includes(Buffer.from(domains.privateKey(domain.keys[0]?.id ?? '')).subarray(30, 60))).toBe(false)
})

test('due checks find new records, and lose a domain only after its grace', async () => {
  const { clock, domains } = await setUp()
  const domain = await domains.add('acc_1', 'shop.test')
  expect(await domains.recheckDue()).toBe(0)
  clock.advance(10 * minute)
  expect(await domains.recheckDue()).toBe(1)
  expect(domains.get('acc_1', domain.id).status).toBe('pending')
  publish(domains, domain)
  clock.advance(10 * minute)
  await domains.recheckDue()
  expect(domains.get('acc_1', domain.id).status).toBe('verified')
  expect(await domains.recheckDue()).toBe(0)

  delete dns.zone['send.shop.test']
  clock.advance(6 * hour)
  expect(await domains.recheckDue()).toBe(1)
  expect(domains.verifiedDomainFor('acc_1', 'shop.test')?.returnPathDomain).toBe('bounces.relay.example')
  for (const name of [...Object.keys(dns.zone), 'send.shop.test']) dns.zone[name] = 'servfail'
  clock.advance(72 * hour)
  expect(await domains.recheckDue()).toBe(1)
  expect(domains.get('acc_1', domain.id).status).toBe('verified')
  dns.zone['send.shop.test'] = 'nxdomain'
  clock.advance(6 * hour)
  await domains.recheckDue()
  expect(domains.get('acc_1', domain.id).status).toBe('failed')
  expect(domains.verifiedDomainFor('acc_1', 'shop.test')).toBeNull()
  expect(domains.senderDomain(domain.id)?.signingKeys).toHaveLength(2)
  clock.advance(24 * hour)
  expect(await domains.recheckDue()).toBe(0)
})

test('a check that is under way is shared', async () => {
  const { domains } = await setUp()
  const domain = await domains.add('acc_1', 'shop.test')
  const [one, two] = await Promise.all([domains.verify(domain.id), domains.verify(domain.id)])
  expect(one).toBe(two)
  expect(dns.queries.filter(({ type }) => type === 'MX')).toHaveLength(1)
})
