import ipaddr from 'ipaddr.js'

/**
 * What counts as one client where limits are counted by address: an IPv4 address, or the /64 that an IPv6 address lies
 * in, since whoever has one address of it has them all.
 */
export function clientNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv6) return `${parsed.parts.slice(0, 4).map((part) => part.toString(16)).join(':')}::/64`
  return parsed.toString()
}

/** True for an address of this computer that nobody outside can have. */
export const isLoopback = (address: string): boolean => ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
