import ipaddr from 'ipaddr.js'

/** All of IPv6 that is assigned for unicast; `::127.0.0.1` and its like are outside. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** True for an address that anybody on the internet can reach; IPv4 in IPv6 clothing is judged as what it is. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  const ip = ipaddr.process(address)
  return ip.range() === 'unicast' && (ip.kind() === 'ipv4' || ip.match(globalUnicast))
}
