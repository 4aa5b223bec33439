import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { mailQuota } from '../../../src/senders/account/account-policy.ts'
import { AuditLog } from '../../../src/senders/account/audit-log.ts'
import { secretsFrom } from '../../../src/senders/account/key-file.ts'
import { type DnsResolver, dnsResolver } from '../../../src/platform/dns/dns-resolver.ts'
import { SignableMessage } from '../../../src/mail-out/delivery/dkim-header.ts'
import { DkimSigner } from '../../../src/mail-out/delivery/dkim-sign.ts'
import { createLog } from '../../../src/platform/log.ts'
import type { Domain } from '../../../src/senders/sending-domain/domain.ts'
import { SendingDomains } from '../../../src/senders/sending-domain/sending-domains.ts'
import { aloneWithChanges } from '../../../src/platform/store/changes.ts'
import { accountPolicies } from '../../support/account-policies.ts'
import { type FakeDns, startFakeDns } from '../../support/fake-dns.ts'
import { settableClock } from '../../support/settable-clock.ts'
import { testDatabase } from '../../support/test-database.ts'

const [minute, hour] = [60_000, 3_600_000]
const settings = {
  hostname: 'relay.example',
  trackingHost: 'links.relay.example',
  takesReports: true,
  returnPathDomain: 'bounces.relay.example',
  keepOldKeysMs: 9 * 24 * hour,
}

let dns: FakeDns
beforeEach(async () => {
  dns = await startFakeDns()
  return () => dns.close()
})

async function setUp(authoritative?: (name: string) => Promise<DnsResolver[]>) {
  const db = await testDatabase()
  const clock = settableClock()
  const resolver = dnsResolver({ servers: [dns.server], now: clock.now })
  const secrets = secretsFrom(Buffer.alloc(32, 3))
  onTestFinished(() => resolver.close())
  await db.write(
    ['acc_1', 'acc_2'].map((id) => ({
      sql: "insert into account (id, name, plan, status, created_at) values (:id, :id, 'free', 'active', 0)",
      params: { id },
    })),
  )
  const logged: string[] = []
  const audit = new AuditLog({ db, clock })
  const policies = accountPolicies(db)
  const open = async (): Promise<SendingDomains> => {
    const domains = new SendingDomains({
      db,
      secrets,
      resolver,
      clock,
      changes: aloneWithChanges,
      log: createLog('warn', (line) => logged.push(line)),
      audit,
      policies,
      settings,
      ...(authoritative ? { authoritative } : {}),
    })
    await domains.load()
    return domains
  }
  return { db, clock, logged, audit, policies, open, domains: await open() }
}

/** Publishes the records that the domain asks for. */
function publish(domains: SendingDomains, domain: Domain): void {
  for (const { name, type, value, priority } of domains.recordStates(domain)) {
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
  const records = domains.recordStates(domain)
  const [rsaSelector, edSelector] = domain.keys.map(({ selector }) => selector)
  expect(domain).toMatchObject({ name: 'shop.test', status: 'not_started', createdAt: Date.parse('2026-11-21T06:00:00Z') })
  expect(records.map(({ record, name, type, status }) => [record, name, type, status])).toEqual([
    ['DKIM', `${rsaSelector}._domainkey.shop.test`, 'TXT', 'not_started'],
    ['DKIM', `${edSelector}._domainkey.shop.test`, 'TXT', 'not_started'],
    ['SPF', 'send.shop.test', 'MX', 'not_started'],
    ['SPF', 'send.shop.test', 'TXT', 'not_started'],
    ['DMARC', '_dmarc.shop.test', 'TXT', 'not_started'],
  ])
  expect(records[2]).toMatchObject({ value: 'relay.example', priority: 10 })
  expect(records[3]?.value).toBe('v=spf1 a:relay.example ~all')
  expect(domains.verifiedDomainFor('acc_1', 'shop.test')).toBeNull()

  publish(domains, domain)
  const verified = await domains.verify(domain.id)
  expect(verified.status).toBe('verified')
  expect(domains.recordStates(verified).map(({ status }) => status)).toEqual(Array(5).fill('verified'))
  const sender = domains.verifiedDomainFor('acc_1', 'shop.test')
  expect(sender).toMatchObject({ id: domain.id, name: 'shop.test', tls: 'opportunistic', returnPathDomain: 'send.shop.test' })
  expect(sender?.signingKeys.map(({ selector, algorithm, signingDomain }) => [selector, algorithm, signingDomain])).toEqual([
    [rsaSelector, 'rsa-sha256', 'shop.test'],
    [edSelector, 'ed25519-sha256', 'shop.test'],
  ])

  const signer = new DkimSigner()
  for (const { id } of sender?.signingKeys ?? []) signer.addKey(id, domains.privateKey(id))
  expect(
    await signer.sign(new SignableMessage(Buffer.from('From: a@shop.test\r\n\r\nx')), {
      fields: '',
      keys: sender?.signingKeys ?? [],
      now: 0,
    }),
  ).toContain(`s=${rsaSelector}`)
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
  const [row] = await db.read<{ private_key: Uint8Array }>('select private_key from dkim_key where id = :id', {
    id: domain.keys[0]?.id ?? '',
  })
  expect(Buffer.from(row?.private_key ?? []).includes(Buffer.from(domains.privateKey(domain.keys[0]?.id ?? '')).subarray(30, 60))).toBe(
    false,
  )
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
  expect(dns.queries.filter(({ type, name }) => type === 'MX' && name === `send.${domain.name}`)).toHaveLength(1)
})

const selectorsOf = (domains: SendingDomains, name = 'shop.test') =>
  domains.verifiedDomainFor('acc_1', name)?.signingKeys.map(({ selector }) => selector)
const labelled = (lines: string[]) => lines.map((line) => (JSON.parse(line) as { message: string }).message)

test('new keys: published first, they take over when they are seen, and the old ones are kept until their mail is gone', async () => {
  const { clock, domains, logged, open } = await setUp()
  const { id } = await domains.add('acc_1', 'shop.test')
  publish(domains, domains.get('acc_1', id))
  await domains.verify(id)
  const old = selectorsOf(domains)
  const rotated = await domains.rotateKeys(id, { dkimSelector: 'S2027' })
  expect(
    domains
      .recordStates(rotated)
      .filter(({ record }) => record === 'DKIM')
      .map(({ name, status }) => [name.split('.')[0], status]),
  ).toEqual([
    [old?.[0], 'verified'],
    [old?.[1], 'verified'],
    ['s2027', 'not_started'],
    ['s2027-ed25519', 'not_started'],
  ])
  await expect(domains.rotateKeys(id)).rejects.toMatchObject({ code: 'rotation_in_progress' })
  await expect(domains.rotateKeys(id, { dkimSelector: old?.[0] ?? '', force: true })).rejects.toMatchObject({ code: 'validation_error' })
  clock.advance(2 * minute)
  expect(await domains.recheckDue()).toBe(1)
  expect(selectorsOf(domains)).toEqual(old)
  publish(domains, domains.get('acc_1', id))
  clock.advance(2 * minute)
  await domains.recheckDue()
  expect(selectorsOf(domains)).toEqual(['s2027', 's2027-ed25519'])
  expect(domains.get('acc_1', id)).toMatchObject({ status: 'verified', records: { 'dkim-rsa': { status: 'verified' } } })
  const kept = domains.recordStates(domains.get('acc_1', id)).filter(({ keepUntil }) => keepUntil !== null)
  expect(kept.map(({ name, keepUntil }) => [name.split('.')[0], keepUntil])).toEqual(
    old?.map((selector) => [selector, Date.parse('2026-11-30T06:04:00Z')]),
  )
  expect((await open()).list()).toEqual(domains.list())
  expect(labelled(logged)).toEqual([
    'a domain is verified',
    'new DKIM keys have taken over; the records of the old ones must stay for a while',
  ])

  const gone: string[] = []
  domains.onKeyGone((key) => gone.push(key))
  clock.advance(9 * 24 * hour)
  await domains.forgetOld()
  expect(gone).toEqual(rotated.keys.filter(({ state }) => state === 'active').map((key) => key.id))
  expect(domains.get('acc_1', id).keys.map(({ selector }) => selector)).toEqual(['s2027', 's2027-ed25519'])
  expect((await open()).list()).toEqual(domains.list())
})

test('a key that is brought along takes the place of the one of its kind', async () => {
  const { domains } = await setUp()
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const domain = await domains.add('acc_1', 'shop.test', { dkimPrivateKey: pem, dkimSelector: 'mine' })
  const [rsa, own] = domain.keys
  expect([rsa?.selector, own?.selector]).toEqual(['mine-rsa', 'mine'])
  expect(own?.publicKey).toBe(publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64'))
  expect(JSON.stringify([domain, domains.recordStates(domain)])).not.toContain('PRIVATE')
  const old = generateKeyPairSync('rsa', {
    modulusLength: 1024,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  for (const [dkimPrivateKey, fault] of [
    [old.privateKey, /RSA key of 1024 bits/],
    [pem.slice(0, 60), /not a private key/],
    [old.publicKey, /not a private key/],
    [generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), /neither/],
  ] as const) {
    await expect(domains.add('acc_1', 'other.test', { dkimPrivateKey })).rejects.toThrow(fault)
  }
})

test('a removed domain sends nothing more, its name is free, and its keys stay as long as its mail waits', async () => {
  const { db, clock, policies, domains, open } = await setUp()
  const domain = await domains.verifyManually((await domains.add('acc_1', 'shop.test')).id)
  await policies.change(mailQuota, domain.id, { day: 10 })
  await db.write([
    {
      sql: `insert into message (id, account_id, domain_id, source, sandbox, header_from, header_to, header_cc, reply_to, subject,
              message_id_header, size, body_type, smtputf8, tags, metadata, created_at)
            values ('em_1', 'acc_1', :domainId, 'api', 0, '', '', '', '', '', '', 0, '7bit', 0, '', '', 0)`,
      params: { domainId: domain.id },
    },
    {
      sql: `insert into recipient (id, message_id, account_id, forward_path, destination, type, state, due_at, expires_at)
            values ('rcp_1', 'em_1', 'acc_1', 'a@b.test', 'b.test', 'to', 'queued', 0, 0)`,
    },
  ])
  await domains.remove(domain.id)
  expect(domains.verifiedDomainFor('acc_1', 'shop.test')).toBeNull()
  expect(() => domains.get('acc_1', domain.id)).toThrow(expect.objectContaining({ code: 'not_found' }))
  await expect(domains.remove(domain.id)).rejects.toMatchObject({ code: 'not_found' })
  const again = await domains.add('acc_1', 'shop.test')
  expect(again.id).not.toBe(domain.id)
  for (const each of [domains, await open()]) {
    expect(each.senderDomain(domain.id)).toMatchObject({ name: 'shop.test', signingKeys: [{ selector: domain.keys[0]?.selector }, {}] })
    expect(each.privateKey(domain.keys[0]?.id ?? '')).toBeInstanceOf(Uint8Array)
    expect(each.list()).toEqual([again])
  }
  clock.advance(2 * hour)
  await domains.forgetOld()
  expect(domains.senderDomain(domain.id)).not.toBeNull()
  expect(policies.ownOf(mailQuota, domain.id)).toMatchObject({ day: 10 })
  await db.write([{ sql: 'update recipient set due_at = null' }])
  clock.advance(hour)
  await domains.forgetOld()
  expect(domains.senderDomain(domain.id)).toBeNull()
  expect(() => domains.privateKey(domain.keys[0]?.id ?? '')).toThrow(expect.objectContaining({ code: 'not_found' }))
  expect((await open()).senderDomain(domain.id)).toBeNull()
  expect(policies.ownOf(mailQuota, domain.id)).toEqual({ day: null, month: null })
})

test('the operator is told of records that go and return, and of domains that fail', async () => {
  const { clock, domains, logged, audit } = await setUp()
  const { id } = await domains.add('acc_1', 'shop.test')
  publish(domains, domains.get('acc_1', id))
  await domains.verify(id)
  const entry = dns.zone['send.shop.test']
  delete dns.zone['send.shop.test']
  await domains.verify(id)
  dns.zone['send.shop.test'] = entry as object
  await domains.verify(id)
  delete dns.zone['send.shop.test']
  await domains.verify(id)
  clock.advance(72 * hour)
  await domains.verify(id)
  const twice = (message: string) => [message, message]
  expect(labelled(logged)).toEqual([
    'a domain is verified',
    ...twice('a record of a verified domain has gone missing'),
    ...twice('a record of a domain is back'),
    ...twice('a record of a verified domain has gone missing'),
    expect.stringMatching('^a domain has failed'),
  ])
  expect(JSON.parse(logged[1] ?? '')).toMatchObject({ domain: 'shop.test', accountId: 'acc_1', kind: 'return-path-mx' })
  const rows = await audit.page({ accountId: 'acc_1', actor: 'server' }, { limit: 100, after: null, before: null })
  expect(
    rows
      .map(({ operation, object_id, fields }) => [operation, object_id, fields])
      .toReversed()
      .slice(0, 3),
  ).toEqual([
    ['domains.verified', id, ''],
    ['domains.record_missing', id, 'return-path-mx'],
    ['domains.record_missing', id, 'return-path-spf'],
  ])
})

test('an owner may ask for a check every ten seconds, and changes of a domain do not undo each other', async () => {
  const { clock, domains } = await setUp()
  const { id } = await domains.add('acc_1', 'shop.test', { trackingSubdomain: 'links' })
  publish(domains, domains.get('acc_1', id))
  dns.zone['links.shop.test'] = { cname: 'links.relay.example' }
  await Promise.all([domains.beginVerification(id), domains.update(id, { tls: 'enforced' }), domains.update(id, { subdomains: false })])
  await expect.poll(() => domains.get('acc_1', id).status).toBe('verified')
  expect(domains.get('acc_1', id)).toMatchObject({ tls: 'enforced', subdomains: false, records: { tracking: { status: 'verified' } } })
  expect(domains.verifiedDomainFor('acc_1', 'shop.test')).toMatchObject({ tls: 'enforced' })
  expect(domains.verifiedDomainFor('acc_1', 'a.shop.test')).toBeNull()
  clock.advance(4_000)
  await expect(domains.beginVerification(id)).rejects.toMatchObject({ code: 'rate_limit_exceeded', retryAfter: 6 })
  clock.advance(6_000)
  await domains.beginVerification(id)
  await domains.verify(id)
  await expect(domains.update(id, { trackingSubdomain: 'send' })).rejects.toMatchObject({ code: 'validation_error' })
  expect((await domains.update(id, { trackingSubdomain: null })).records.tracking).toBeUndefined()
})

test("an account's checks come one after the other, and keep no other account's waiting", async () => {
  const asked: string[] = []
  const answer = Promise.withResolvers<DnsResolver[]>()
  const { domains } = await setUp((name) => {
    asked.push(name)
    return name.startsWith('other') ? Promise.resolve([]) : answer.promise
  })
  for (const name of ['one.test', 'two.test', 'three.test']) await domains.beginVerification((await domains.add('acc_1', name)).id)
  const { id } = await domains.add('acc_2', 'other.test')
  await domains.beginVerification(id)
  await expect.poll(() => asked).toEqual(['one.test', 'other.test'])
  answer.resolve([])
  await expect.poll(() => asked).toEqual(['one.test', 'other.test', 'two.test', 'three.test'])
})

test('keys that change while their records are looked up are not taken for those that were found', async () => {
  const rotated = Promise.withResolvers<DnsResolver[]>()
  const { domains } = await setUp(() => rotated.promise)
  const { id } = await domains.add('acc_1', 'shop.test')
  publish(domains, domains.get('acc_1', id))
  const checked = domains.verify(id)
  await domains.rotateKeys(id)
  rotated.resolve([])
  expect(await checked).toMatchObject({ status: 'pending', records: { 'dkim-rsa': { status: 'pending' }, dmarc: { status: 'verified' } } })
})

test('new keys wait until every name server of the zone shows them', async () => {
  const behind = await startFakeDns()
  onTestFinished(() => behind.close())
  const { domains, clock } = await setUp(() =>
    Promise.resolve([dns.server, behind.server].map((server) => dnsResolver({ servers: [server] }))),
  )
  const { id } = await domains.add('acc_1', 'shop.test')
  publish(domains, domains.get('acc_1', id))
  Object.assign(behind.zone, dns.zone)
  expect((await domains.verify(id)).status).toBe('verified')
  const old = selectorsOf(domains)
  await domains.rotateKeys(id, { dkimSelector: 's2' })
  publish(domains, domains.get('acc_1', id))
  clock.advance(minute)
  await domains.verify(id)
  expect(selectorsOf(domains)).toEqual(old)
  Object.assign(behind.zone, dns.zone)
  clock.advance(minute)
  await domains.verify(id)
  expect(selectorsOf(domains)).toEqual(['s2', 's2-ed25519'])
})
