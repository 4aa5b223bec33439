import { expect, onTestFinished, test } from 'vitest'
import { type DnsResolver, dnsResolver } from '../../../src/platform/dns/dns-resolver.ts'
import { authoritativeResolvers, firstToAnswer } from '../../../src/senders/sending-domain/authoritative-resolver.ts'
import { type FakeZone, startFakeDns } from '../../support/fake-dns.ts'

async function resolverOver(zone: FakeZone): Promise<DnsResolver> {
  const dns = await startFakeDns(zone)
  const resolver = dnsResolver({ servers: [dns.server] })
  onTestFinished(() => {
    resolver.close()
    return dns.close()
  })
  return resolver
}

async function serversFor(domain: string, zone: FakeZone): Promise<string[]> {
  const resolver = await resolverOver(zone)
  const opened: string[] = []
  await authoritativeResolvers(domain, resolver, (server) => {
    opened.push(server)
    return resolver
  })
  return opened
}

test('the nearest zone up to the registered domain has the word', async () => {
  const zone: FakeZone = {
    'co.uk': { ns: ['ns.nic.example'] },
    'shop.co.uk': { ns: ['ns1.shop.co.uk', 'ns2.shop.co.uk'] },
    'own.shop.co.uk': { ns: ['ns.own.example'] },
    'ns.nic.example': { a: ['8.0.0.1'] },
    'ns1.shop.co.uk': { a: ['8.0.0.2'] },
    'ns2.shop.co.uk': { a: ['8.0.0.3'] },
    'ns.own.example': { a: ['8.0.0.4'] },
  }
  expect(await serversFor('a.b.shop.co.uk', zone)).toEqual(['8.0.0.2:53', '8.0.0.3:53'])
  expect(await serversFor('own.shop.co.uk', zone)).toEqual(['8.0.0.4:53'])
  expect(await serversFor('other.co.uk', zone)).toEqual([])
})

test('name servers inside a network are not asked', async () => {
  const ns = (a: string[]): FakeZone => ({ 'shop.test': { ns: ['ns.shop.test'] }, 'ns.shop.test': { a } })
  for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '100.64.0.1', '0.0.0.0']) {
    expect(await serversFor('shop.test', ns([address]))).toEqual([])
  }
  expect(await serversFor('shop.test', ns(['10.0.0.1', '8.0.0.9']))).toEqual(['8.0.0.9:53'])
})

test('the second is asked where the first gives no answer, and only there', async () => {
  const first = await resolverOver({ 'a.test': { txt: ['first'] }, 'b.test': 'servfail' })
  const second = await resolverOver({ 'a.test': { txt: ['second'] }, 'b.test': { txt: ['second'] }, 'c.test': { txt: ['second'] } })
  const either = firstToAnswer([first, second])
  expect((await either.txt('a.test')).records).toEqual(['first'])
  expect((await either.txt('b.test')).records).toEqual(['second'])
  expect((await either.txt('c.test')).status).toBe('nxdomain')
})
