import ipaddr from 'ipaddr.js'
import { isPublicAddress, networkRule } from '../../platform/ip-address.ts'

/** The addresses that webhooks may use besides public ones: none, all private ones, or these networks (CIDR). */
export type AllowedAddresses = boolean | readonly string[]

/** Addresses of the own machine or network. Other addresses that are not public are always refused. */
const ownRanges = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat'])

/** Where clouds hand out the machine's credentials. Link-local addresses are refused anyway. */
const metadataAddresses = new Set(['100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254'])

/**
 * Decides whether we may connect to an IP address (text, in any notation that a socket accepts). Treats IPv4-mapped IPv6 as IPv4. Refuses
 * tunnels and translators (6to4, Teredo, NAT64), because we cannot see where they lead.
 * @throws Error if a network in the list is not in CIDR notation
 */
export function addressRule(allowed: AllowedAddresses): (address: string) => boolean {
  const isOwnAllowed = typeof allowed === 'boolean' ? () => allowed : networkRule(allowed)
  return (text) => {
    if (!ipaddr.isValid(text)) return false
    const address = ipaddr.process(text)
    if (metadataAddresses.has(address.toString())) return false
    return ownRanges.has(address.range()) ? isOwnAllowed(text) : isPublicAddress(text)
  }
}
