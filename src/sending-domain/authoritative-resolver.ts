import { type DnsResolver, dnsResolver } from '../dns/dns-resolver.ts'
import { isPublicAddress } from '../ip-address.ts'
import type { DnsAnswer, Resolver } from '../resolver.ts'
import { organizationalDomain } from './sending-domain-name.ts'

const mostServers = 4

/**
 * Asks the name servers of the domain's own zone, which know a new record before any cache does. Null where they
 * cannot be found or have no public address: nobody makes us ask inside our own network.
 */
export async function authoritativeResolver(
  domain: string,
  resolver: Resolver,
  open: (servers: string[]) => DnsResolver = (servers) => dnsResolver({ servers, timeoutMs: 2000 }),
): Promise<DnsResolver | null> {
  const hosts = await nameServersOf(domain, resolver)
  const addresses = await Promise.all(hosts.slice(0, mostServers).map((host) => resolver.a(host)))
  const servers = [...new Set(addresses.flatMap(({ records }) => records).filter(isPublicAddress))].slice(0, mostServers)
  return servers.length > 0 ? open(servers.map((address) => `${address}:53`)) : null
}

/** Of the nearest zone that holds the domain, up to the one that was registered. */
async function nameServersOf(domain: string, resolver: Resolver): Promise<string[]> {
  const registered = organizationalDomain(domain)
  for (let zone = domain; zone.length >= registered.length; zone = zone.slice(zone.indexOf('.') + 1)) {
    const { records } = await resolver.ns(zone)
    if (records.length > 0) return records
  }
  return []
}

/** What the first says, or, where it gives no answer, the second. */
export function firstToAnswer(first: Resolver, second: Resolver): Resolver {
  const either = async <T>(ask: (resolver: Resolver) => Promise<DnsAnswer<T>>): Promise<DnsAnswer<T>> => {
    const answer = await ask(first)
    return answer.status === 'servfail' ? ask(second) : answer
  }
  return {
    mx: (name) => either((resolver) => resolver.mx(name)),
    a: (name) => either((resolver) => resolver.a(name)),
    aaaa: (name) => either((resolver) => resolver.aaaa(name)),
    txt: (name) => either((resolver) => resolver.txt(name)),
    cname: (name) => either((resolver) => resolver.cname(name)),
    ns: (name) => either((resolver) => resolver.ns(name)),
  }
}
