import { expect, test } from 'vitest'
import { issuedId, keepCertificate } from '../../../src/platform/certificate/certificate-rows.ts'
import { IssuedCertificates } from '../../../src/platform/certificate/issued-certificates.ts'
import type { Certificate } from '../../../src/platform/certificate/self-signed-certificate.ts'
import { ServerCertificates } from '../../../src/platform/certificate/server-certificates.ts'
import { createLog } from '../../../src/platform/log.ts'
import { certificateServices } from '../../support/certificate-services.ts'
import { testCertificate } from '../../support/test-certificates.ts'

const now = Date.now()
const [server, links] = ['mail.example.com', 'links.shop.example']

async function own(origin: Certificate['origin'], expiresAt: number): Promise<Certificate> {
  return { ...(await testCertificate([server])), origin, expiresAt, fingerprint: '' }
}

/** As if an authority had issued them. */
async function issued(...names: string[]) {
  const kept = new IssuedCertificates(await certificateServices(), 'ca.example')
  await kept.load()
  for (const name of names) {
    const { cert, key } = await testCertificate([name])
    await kept.keep(name, { chain: cert, key }, now)
  }
  return { certificateFor: (name: string) => kept.get(name), contextFor: (name: string) => kept.contextFor(name, now) }
}

test('the configured certificate goes before issued ones for the names that it covers, and for unknown names', async () => {
  const configured = await own('configured', 1)
  const acme = await issued(server, links)
  const certificates = new ServerCertificates({ own: configured, acme, hostname: server })
  const { cert, contextFor } = certificates.files
  expect(cert).toBe(configured.cert)
  expect([contextFor?.(server), contextFor?.('stranger.example')]).toEqual([undefined, undefined])
  expect(contextFor?.(links.toUpperCase())).toBe(acme.contextFor(links))
  expect([server, links, 'stranger.example'].map((name) => certificates.covers(name))).toEqual([true, true, false])
  expect(certificates.expiryFor(server)).toBe(1)
  expect(certificates.expiryFor(links)).toBe(acme.certificateFor(links)?.expiresAt)
})

test('a self-signed certificate is only used while none was issued, and never counts as one that browsers trust', async () => {
  const made = await own('made', 1)
  const before = new ServerCertificates({ own: made, acme: await issued(), hostname: server })
  expect([before.files.cert, before.covers(server), before.expiryFor(server)]).toEqual([made.cert, false, 1])
  const acme = await issued(server)
  const after = new ServerCertificates({ own: made, acme, hostname: server })
  expect([after.files.cert, after.covers(server)]).toEqual([acme.certificateFor(server)?.cert, true])
  expect(new ServerCertificates({ own: made, acme: null, hostname: server }).files.contextFor?.(server)).toBe(undefined)
})

test('what is stored is read again; one that is damaged, expired or for another name is left out', async () => {
  const services = await certificateServices()
  const kept = new IssuedCertificates(services, 'ca.example')
  await kept.load()
  const { cert: chain, key } = await testCertificate([links])
  const { fingerprint } = await kept.keep(links, { chain, key }, now)
  await expect(kept.keep(server, { chain, key }, now)).rejects.toThrow(/not for mail\.example\.com/)
  await expect(kept.keep(links, { chain, key: (await testCertificate([links])).key }, now)).rejects.toThrow(/does not belong/)
  const old = await testCertificate([server], { expired: true })
  await expect(kept.keep(server, { chain: old.cert, key: old.key }, now)).rejects.toThrow(/expired/)
  const put = (name: string, pair: { cert: string; key: string }) =>
    services.db.write([
      keepCertificate({ id: issuedId('ca.example', name), authority: 'ca.example', name }, { ...pair, now }, services.secrets),
    ])
  await put(server, old)
  await put('other.example', { cert: chain, key })
  await put('empty.example', { cert: '', key: '' })
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  const { cert, key: brokenKey } = await testCertificate(['chain.example'])
  await put('chain.example', { cert: `${cert}\n${broken}`, key: brokenKey })

  const logged: string[] = []
  const log = createLog('info', (line) => logged.push(JSON.parse(line).problem))
  const again = new IssuedCertificates({ ...services, log }, 'ca.example')
  await again.load()
  expect(again.names.toSorted()).toEqual(['chain.example', links, server])
  expect(again.get(links)?.fingerprint).toBe(fingerprint)
  expect(again.contextFor(links, now)).toBeDefined()
  expect(again.contextFor(server, now)).toBe(undefined)
  expect([again.contextFor('chain.example', now), again.get('chain.example')]).toEqual([undefined, null])
  expect(logged).toHaveLength(3)
})
