import ipaddr from 'ipaddr.js'

/** The part of IPv6 assigned for unicast. Excludes `::127.0.0.1` and the like. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** The address of a client as its socket tells it: one that listens for both families writes IPv4 as `::ffff:192.0.2.1`. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/** True for an address that is reachable over the internet. Treats IPv4-mapped IPv6 as IPv4. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const ip = ipaddr.process(address)
  return ip.range() === 'unicast' && (ip.kind() === 'ipv4' || ip.match(globalUnicast))
}

/**
 * What counts as one client for limits: an IPv4 address, or the /64 of an IPv6 address, because whoever
 * has one of its addresses has all of them.
 */
export function clientNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv6)
    return `${parsed.parts
      .slice(0, 4)
      .map((part) => part.toString(16))
      .join(':')}::/64`
  return parsed.toString()
}

/** The network of an address, too large to identify anybody: /24 for IPv4, /48 for IPv6. Null if it is not an address. */
export function truncatedAddress(address: string): string | null {
  if (!ipaddr.isValid(address)) return null
  const ip = ipaddr.process(address)
  const bits = ip.kind() === 'ipv4' ? 24 : 48
  const bytes = ip.toByteArray().map((byte, place) => (place * 8 < bits ? byte : 0))
  return ipaddr.fromByteArray(bytes).toString()
}

/** True for an address that only this computer itself can use. */
export const isLoopback = (address: string): boolean => ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'

/**
 * A network in CIDR notation; one of IPv4-mapped addresses becomes IPv4, as addresses do.
 * @throws Error if it is not one
 */
export function parsedNetwork(cidr: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const [base, bits] = ipaddr.parseCIDR(cidr)
  const isMapped = base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= 96
  return isMapped ? [base.toIPv4Address(), bits - 96] : [base, bits]
}

/**
 * A function that tells whether an address is in one of these networks.
 * @param networks in CIDR notation
 */
export function networkRule(networks: readonly string[]): (address: string) => boolean {
  const parsed = networks.map(parsedNetwork)
  return (address) => {
    if (!ipaddr.isValid(address)) return false
    const ip = ipaddr.process(address)
    return parsed.some(([base, bits]) => base.kind() === ip.kind() && ip.match(base, bits))
  }
}

/** The name of an address under in-addr.arpa (RFC 1035 3.5) or ip6.arpa (RFC 3596 2.5). */
export const reverseName = (address: string): string =>
  `${reversedLabels(address)}.${ipaddr.process(address).kind() === 'ipv4' ? 'in-addr' : 'ip6'}.arpa`

/** The bytes of an IPv4 address, or the hexadecimal digits of an IPv6 address, in reverse order, separated by dots. */
export function reversedLabels(address: string): string {
  const ip = ipaddr.process(address)
  const bytes = ip.toByteArray()
  const labels = ip.kind() === 'ipv4' ? bytes.map(String) : [...Buffer.from(bytes).toString('hex')]
  return labels.toReversed().join('.')
}
