import ipaddr from 'ipaddr.js'
import { isPublicAddress } from '../ip-address.ts'

/** Which addresses besides public ones webhooks may be posted to: none, all private ones, or these networks (CIDR). */
export type AllowedAddresses = boolean | readonly string[]

/** Address ranges of one's own machine or network; everything else that is not public is never connected to. */
const ownRanges = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat'])

/** Where clouds answer with credentials of the machine; link-local ones are refused with their range. */
const metadataAddresses = new Set(['100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254'])

/**
 * Decides whether a connection to an IP address (text, any notation that a socket understands) may be made.
 * IPv4 in IPv6 clothing is judged as what it is; tunnels and translators (6to4, Teredo, NAT64) are refused, since
 * they lead to addresses that this cannot see.
 * @throws Error where a network of the list is not in CIDR notation
 */
export function addressRule(allowed: AllowedAddresses): (address: string) => boolean {
  const networks = typeof allowed === 'boolean' ? [] : allowed.map((network) => ipaddr.parseCIDR(network))
  const isOwnAllowed = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
    allowed === true || networks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))

  return (text) => {
    if (!ipaddr.isValid(text)) return false
    const address = ipaddr.process(text)
    if (metadataAddresses.has(address.toString())) return false
    return ownRanges.has(address.range()) ? isOwnAllowed(address) : isPublicAddress(text)
  }
}
