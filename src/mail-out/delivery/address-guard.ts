import ipaddr from 'ipaddr.js'
import { lastUsed } from '../../platform/last-used.ts'
import { isPublicAddress } from '../../platform/ip-address.ts'

export interface ListenAddress {
  /** An IP address or a name; `0.0.0.0` and `::` mean the whole machine. */
  host: string
  port: number
}

/**
 * Addresses that mail must never be delivered to. Otherwise anyone with a DNS zone could make us connect to ourselves or to our network.
 */
export interface AddressGuard {
  /** Allows everything but this server itself: for labs and internal mail servers. */
  allowPrivateAddresses: boolean
  ownListeners: ListenAddress[]
  /** The addresses of this machine, on which a wildcard listener answers. */
  interfaceAddresses: string[]
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** What an address is, whatever the guard. */
interface Judged {
  ip: Address
  range: ReturnType<Address['range']>
  isPublic: boolean
}

/** Parsing takes longer than everything else, and most mail goes to few hosts. */
const judged = lastUsed<Judged>(1000)

/**
 * Why we must not connect to this address and port: `own` if we listen there ourselves, `private` if it is not a public unicast address;
 * null if it is allowed. Ask about the literal address of the connection.
 */
export function whyForbidden(address: string, port: number, guard: AddressGuard): 'own' | 'private' | null {
  const about = judged.get(address) ?? judge(address)
  if (!about) return 'private'
  const { ip, range, isPublic } = about
  // Connecting to the unspecified address reaches this machine.
  if (range === 'unspecified') return 'own'
  if (guard.ownListeners.some((listener) => listener.port === port && answersOn(listener, ip, guard))) return 'own'
  if (range === 'multicast' || range === 'broadcast') return 'private'
  return guard.allowPrivateAddresses || isPublic ? null : 'private'
}

function judge(address: string): Judged | null {
  if (!ipaddr.isValid(address)) return null
  const ip = withoutEmbedding(ipaddr.process(address))
  const about = { ip, range: ip.range(), isPublic: isPublicAddress(address) }
  judged.set(address, about)
  return about
}

function answersOn(listener: ListenAddress, ip: Address, guard: AddressGuard): boolean {
  // A name may stand for any address of ours.
  const own = ipaddr.isValid(listener.host) ? ipaddr.process(listener.host) : null
  if (own && own.range() !== 'unspecified') return isSame(own, ip)
  return (
    ip.range() === 'loopback' || guard.interfaceAddresses.some((address) => ipaddr.isValid(address) && isSame(ipaddr.process(address), ip))
  )
}

const isSame = (one: Address, other: Address): boolean => one.kind() === other.kind() && one.match(other, one.kind() === 'ipv4' ? 32 : 128)

/** The IPv4 address embedded in a NAT64 (RFC 6052) or 6to4 (RFC 3056) address. */
function withoutEmbedding(ip: Address): Address {
  if (ip.kind() === 'ipv4') return ip
  const bytes = ip.toByteArray()
  const range = ip.range()
  if (range === 'rfc6052') return ipaddr.fromByteArray(bytes.slice(12))
  if (range === '6to4') return ipaddr.fromByteArray(bytes.slice(2, 6))
  return ip
}
