import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import { isPublicAddress, reverseName } from '../../platform/ip-address.ts'
import { isFullName } from '../../platform/smtp/domain-name.ts'
import { type Finding, sayOf } from './finding.ts'

type Names = Pick<DnsResolver, 'a' | 'aaaa' | 'ptr'>

/** An address that this server sends from, as others see it. */
export interface SendingAddress {
  address: string
  /** False if the machine has no public address of this family itself, so we assume that of the host name. */
  isOwn: boolean
}

/** Addresses of a name, IPv4 and IPv6. */
export async function addressesOf(name: string, resolver: Pick<Names, 'a' | 'aaaa'>): Promise<string[]> {
  const [a, aaaa] = await Promise.all([resolver.a(name), resolver.aaaa(name)])
  return [...a.records, ...aaaa.records]
}

/** Addresses of a name, none if others cannot look it up. */
export const publishedFor = async (name: string, resolver: Pick<Names, 'a' | 'aaaa'>): Promise<string[]> =>
  isFullName(name) ? addressesOf(name, resolver) : []

/** The first addresses of each family, at most four. */
export function someOfEachFamily(addresses: readonly string[]): string[] {
  const [four, six] = [4, 6].map((family) => addresses.filter((address) => isIP(address) === family)) as [string[], string[]]
  return [...four.slice(0, Math.max(2, 4 - six.length)), ...six.slice(0, Math.max(2, 4 - four.length))]
}

/**
 * Judges each family by itself: a machine often has an IPv6 address of its own, and its IPv4 address behind NAT.
 * @param interfaceAddresses of this machine; behind NAT none of them is public
 */
export function sendingAddresses(interfaceAddresses: string[], ofHostName: string[]): SendingAddress[] {
  const usable = interfaceAddresses.filter((address) => ipaddr.isValid(address) && !onlyHere.has(ipaddr.process(address).range()))
  return [4, 6].flatMap((family) => {
    const isOfFamily = (address: string): boolean => isIP(address) === family
    // Without a network of this family nothing leaves over it.
    if (usable.length > 0 && !usable.some(isOfFamily)) return []
    const publicOnes = (addresses: string[], isOwn: boolean): SendingAddress[] =>
      addresses.filter((address) => isOfFamily(address) && isPublicAddress(address)).map((address) => ({ address, isOwn }))
    const own = publicOnes(interfaceAddresses, true)
    return own.length > 0 ? own : publicOnes(ofHostName, false)
  })
}

const onlyHere = new Set(['loopback', 'linkLocal', 'unspecified'])

/** The EHLO name must be in the DNS and resolve to this server (RFC 5321 4.1.1.1, 4.1.4). */
export function judgeHostName(host: string, found: string[], sending: SendingAddress[]): Finding {
  const say = sayOf('host_name')
  if (!isFullName(host)) return say.failed('host_name_not_full', { host })
  if (found.length === 0) return say.failed('host_name_without_address', { host })
  const own = sending.flatMap(({ address, isOwn }) => (isOwn ? [address] : []))
  const missing = own.filter((address) => !found.some((other) => isSame(address, other)))
  if (missing.length > 0) {
    return say.warning('host_name_lacks_addresses', { host, addresses: found.join(', '), missing: missing.join(', ') })
  }
  return say.ok('host_name_fine', { host, addresses: found.join(', ') })
}

/** Every sending address needs a name that resolves back to it, because large receivers refuse mail from addresses without one. */
export async function examineReverseDns(hostname: string, sending: SendingAddress[], resolver: Names): Promise<Finding[]> {
  if (sending.length === 0) {
    const say = sayOf('reverse_dns')
    return [isFullName(hostname) ? say.skipped('sending_address_unknown', { host: hostname }) : say.skipped('sending_address_unnamed')]
  }
  return Promise.all(
    sending.map(async ({ address, isOwn }) => {
      const { status, records: names } = await resolver.ptr(reverseName(address))
      if (status === 'servfail') return sayOf('reverse_dns').skipped('reverse_dns_unknown', { address })
      const confirmed = await Promise.all(names.slice(0, 5).map(async (name) => ({ name, leadsTo: await addressesOf(name, resolver) })))
      return judgeReverse({ address, hostname, isOwn }, confirmed)
    }),
  )
}

/** @param names of the address, each with its own addresses */
export function judgeReverse(
  { address, hostname: host, isOwn }: SendingAddress & { hostname: string },
  names: { name: string; leadsTo: string[] }[],
): Finding {
  const say = sayOf('reverse_dns')
  if (names.length === 0) return say.failed(isOwn ? 'reverse_dns_none' : 'reverse_dns_none_assumed', { address, host })
  const back = names.filter(({ leadsTo }) => leadsTo.some((other) => isSame(address, other))).map(({ name }) => name)
  const all = names.map(({ name }) => name).join(', ')
  const [name] = back
  if (name === undefined) {
    return say.failed(isOwn ? 'reverse_dns_not_back' : 'reverse_dns_not_back_assumed', { address, names: all, host })
  }
  if (!back.includes(host)) return say.warning('reverse_dns_other_name', { address, names: all, host, name })
  return say.ok('reverse_dns_fine', { address, host })
}

const isSame = (one: string, other: string): boolean => ipaddr.process(one).toString() === ipaddr.process(other).toString()
