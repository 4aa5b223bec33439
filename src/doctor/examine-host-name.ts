import ipaddr from 'ipaddr.js'
import type { DnsResolver } from '../dns/dns-resolver.ts'
import { isPublicAddress, reverseName } from '../ip-address.ts'
import { isFullName } from '../smtp/domain-name.ts'
import { type Finding, sayOf } from './finding.ts'

type Names = Pick<DnsResolver, 'a' | 'aaaa' | 'ptr'>

/** The addresses that this server sends from, as others see them. */
interface SendingAddresses {
  addresses: string[]
  /** False if the machine has no public address itself, so we assume those of the host name. */
  areOwn: boolean
}

/** Addresses of a name, IPv4 and IPv6. */
export async function addressesOf(name: string, resolver: Pick<Names, 'a' | 'aaaa'>): Promise<string[]> {
  const [a, aaaa] = await Promise.all([resolver.a(name), resolver.aaaa(name)])
  return [...a.records, ...aaaa.records]
}

/** @param interfaceAddresses of this machine; behind NAT none of them is public */
export function sendingAddresses(interfaceAddresses: string[], ofHostName: string[]): SendingAddresses {
  const own = interfaceAddresses.filter(isPublicAddress)
  return own.length > 0 ? { addresses: own, areOwn: true } : { addresses: ofHostName.filter(isPublicAddress), areOwn: false }
}

/** The EHLO name must be in the DNS and resolve to this server (RFC 5321 4.1.1.1, 4.1.4). */
export function judgeHostName(host: string, found: string[], { addresses, areOwn }: SendingAddresses): Finding {
  const say = sayOf('host_name')
  if (!isFullName(host)) return say.failed('host_name_not_full', { host })
  if (found.length === 0) return say.failed('host_name_without_address', { host })
  const missing = areOwn ? addresses.filter((address) => !found.some((other) => isSame(address, other))) : []
  if (missing.length > 0) {
    return say.warning('host_name_lacks_addresses', { host, addresses: found.join(', '), missing: missing.join(', ') })
  }
  return say.ok('host_name_fine', { host, addresses: found.join(', ') })
}

/** Every sending address needs a name that resolves back to it, because large receivers refuse mail from addresses without one. */
export async function examineReverseDns(hostname: string, { addresses, areOwn }: SendingAddresses, resolver: Names): Promise<Finding[]> {
  if (addresses.length === 0) {
    const say = sayOf('reverse_dns')
    return [isFullName(hostname) ? say.skipped('sending_address_unknown', { host: hostname }) : say.skipped('sending_address_unnamed')]
  }
  return Promise.all(
    addresses.map(async (address) => {
      const { status, records: names } = await resolver.ptr(reverseName(address))
      if (status === 'servfail') return sayOf('reverse_dns').skipped('reverse_dns_unknown', { address })
      const confirmed = await Promise.all(names.slice(0, 5).map(async (name) => ({ name, leadsTo: await addressesOf(name, resolver) })))
      return judgeReverse({ address, hostname, areOwn }, confirmed)
    }),
  )
}

/** @param names of the address, each with its own addresses */
export function judgeReverse(
  { address, hostname: host, areOwn }: { address: string; hostname: string; areOwn: boolean },
  names: { name: string; leadsTo: string[] }[],
): Finding {
  const say = sayOf('reverse_dns')
  if (names.length === 0) return say.failed(areOwn ? 'reverse_dns_none' : 'reverse_dns_none_assumed', { address, host })
  const back = names.filter(({ leadsTo }) => leadsTo.some((other) => isSame(address, other))).map(({ name }) => name)
  const all = names.map(({ name }) => name).join(', ')
  const [name] = back
  if (name === undefined) {
    return say.failed(areOwn ? 'reverse_dns_not_back' : 'reverse_dns_not_back_assumed', { address, names: all, host })
  }
  if (!back.includes(host)) return say.warning('reverse_dns_other_name', { address, names: all, host, name })
  return say.ok('reverse_dns_fine', { address, host })
}

const isSame = (one: string, other: string): boolean => ipaddr.process(one).toString() === ipaddr.process(other).toString()
