import { type DnsResolver, dnsResolver } from '../../platform/dns/dns-resolver.ts'
import { isPublicAddress } from '../../platform/ip-address.ts'
import type { DnsAnswer, Resolver } from '../../platform/resolver.ts'
import { organizationalDomain } from './sending-domain-name.ts'

const maxServers = 4

/**
 * The name servers of the domain's own zone, each queried separately: they know a new record before any cache does. None if they cannot be
 * found or have no public address, so nobody can make us query inside our own network.
 */
export async function authoritativeResolvers(
  domain: string,
  resolver: Resolver,
  open: (server: string) => DnsResolver = (server) => dnsResolver({ servers: [server], timeoutMs: 1000 }),
): Promise<DnsResolver[]> {
  const hosts = await nameServersOf(domain, resolver)
  const addresses = await Promise.all(hosts.slice(0, maxServers).map((host) => resolver.a(host)))
  const servers = [...new Set(addresses.flatMap(({ records }) => records).filter(isPublicAddress))].slice(0, maxServers)
  return servers.map((address) => open(`${address}:53`))
}

/** Of the nearest zone that contains the domain, up to the registered one. */
async function nameServersOf(domain: string, resolver: Resolver): Promise<string[]> {
  const registered = organizationalDomain(domain)
  for (let zone = domain; zone.length >= registered.length; zone = zone.slice(zone.indexOf('.') + 1)) {
    const { records } = await resolver.ns(zone)
    if (records.length > 0) return records
  }
  return []
}

/** The first answer; the last server's failure if none answers. */
export function firstToAnswer(resolvers: readonly Resolver[]): Resolver {
  const first = async <T>(ask: (resolver: Resolver) => Promise<DnsAnswer<T>>): Promise<DnsAnswer<T>> => {
    let answer: DnsAnswer<T> = { status: 'servfail', records: [], ttl: 0, secure: false }
    for (const resolver of resolvers) {
      answer = await ask(resolver)
      if (answer.status !== 'servfail') break
    }
    return answer
  }
  return {
    mx: (name) => first((resolver) => resolver.mx(name)),
    a: (name) => first((resolver) => resolver.a(name)),
    aaaa: (name) => first((resolver) => resolver.aaaa(name)),
    txt: (name) => first((resolver) => resolver.txt(name)),
    cname: (name) => first((resolver) => resolver.cname(name)),
    ns: (name) => first((resolver) => resolver.ns(name)),
  }
}
