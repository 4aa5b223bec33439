import ipaddr from 'ipaddr.js'

/** Who sent a request: the address at the other end of the connection, and what the proxies before it say. */
interface RequestOrigin {
  /** Undefined where the connection is gone already. */
  remoteAddress: string | undefined
  /** The X-Forwarded-For field; each proxy adds the address that it was called from at the end. */
  forwardedFor: string | undefined
}

/** More proxies in a row than anybody has; what a client wrote before them is not even looked at. */
const mostProxies = 20

/**
 * Makes the rule that finds a client's address. X-Forwarded-For counts only as far as trusted proxies wrote it: it is
 * read from its end, and the first address that is not a trusted proxy's is the client's. Anybody may write the rest.
 * @param trustedProxies networks in CIDR notation
 */
export function clientAddressRule(trustedProxies: readonly string[]): (origin: RequestOrigin) => string {
  const networks = trustedProxies.map((network) => ipaddr.parseCIDR(network))
  const isTrusted = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
    networks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))

  return ({ remoteAddress = '', forwardedFor = '' }) => {
    // Sockets tell addresses in one notation, so most servers need not read them.
    if (networks.length === 0) return remoteAddress.replace(/^::ffff:(?=\d+\.)/, '')
    let client = parsed(remoteAddress)
    if (!client) return remoteAddress
    for (const text of forwardedFor.split(',').slice(-mostProxies).reverse()) {
      if (!isTrusted(client)) break
      const before = parsed(text.trim())
      // A proxy that writes "unknown" or a name has told us no more than its own address.
      if (!before) break
      client = before
    }
    return client.toString()
  }
}

/** An address as proxies write it: some in brackets, some with the port; IPv4 in IPv6 clothing as what it is. */
function parsed(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  const address = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(text)?.[1] ?? /^([\d.]+):\d{1,5}$/.exec(text)?.[1] ?? text
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(address) || ipaddr.IPv6.isValid(address)
  return isAddress ? ipaddr.process(address) : null
}
