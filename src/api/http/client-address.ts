import ipaddr from 'ipaddr.js'
import { parsedNetwork, plainAddress } from '../../platform/ip-address.ts'

/** Where a request comes from: the peer address of the connection, and what the proxies in front of it say. */
interface RequestOrigin {
  /** Undefined if the connection is already gone. */
  remoteAddress: string | undefined
  /** The X-Forwarded-For field; each proxy appends the address of its client. */
  forwardedFor: string | undefined
}

/** More proxies in a row than anybody has; anything before them is ignored. */
const maxProxies = 20

/**
 * Returns a function that finds a client's address. X-Forwarded-For counts only as far as trusted proxies wrote it: read from its end,
 * the first address that is not a trusted proxy is the client. Anybody could have written the rest.
 * @param trustedProxies networks in CIDR notation
 */
export function clientAddressRule(trustedProxies: readonly string[]): (origin: RequestOrigin) => string {
  const networks = trustedProxies.map(parsedNetwork)
  const isTrusted = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
    networks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))

  return ({ remoteAddress = '', forwardedFor = '' }) => {
    // Sockets always use the same notation, so most requests need no parsing.
    if (networks.length === 0) return plainAddress(remoteAddress)
    let client = parsed(remoteAddress)
    if (!client) return remoteAddress
    for (const text of forwardedFor.split(',').slice(-maxProxies).reverse()) {
      if (!isTrusted(client)) break
      const before = parsed(text.trim())
      // A proxy that writes "unknown" or a name has told us no more than its own address.
      if (!before) break
      client = before
    }
    return client.toString()
  }
}

/** An address as proxies write it: some in brackets, some with a port. An IPv4-mapped address becomes IPv4. */
function parsed(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const address = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
  return isAddress ? ipaddr.process(address) : null
}
