import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import type { Resolver } from '../../platform/resolver.ts'

interface HostAddress {
  address: string
  family: 4 | 6
}

const hostsFile = process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts'

/**
 * The addresses of a host name, from the hosts file, else from the DNS; IPv4 first, empty if there are none. We avoid getaddrinfo because
 * it blocks one of the few threads that encryption and files share, and a receiver with a dead name server would stall the whole process.
 */
export async function addressesOf(name: string, resolver: Resolver): Promise<HostAddress[]> {
  const host = name.toLowerCase().replace(/\.$/, '')
  const listed = listedIn(await readFile(hostsFile, 'utf8').catch(() => ''), host)
  if (listed.length > 0) return listed.map(withFamily)
  // RFC 6761 6.3: such names must not be looked up in the DNS.
  if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1', '::1'].map(withFamily)
  const [a, aaaa] = await Promise.all([resolver.a(host), resolver.aaaa(host)])
  return [...a.records, ...aaaa.records].filter((address) => isIP(address) !== 0).map(withFamily)
}

const withFamily = (address: string): HostAddress => ({ address, family: isIP(address) === 6 ? 6 : 4 })

function listedIn(file: string, host: string): string[] {
  const addresses: string[] = []
  for (const line of file.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    if (isIP(address) !== 0 && names.some((known) => known.toLowerCase() === host)) addresses.push(address)
  }
  return addresses.toSorted((a, b) => isIP(a) - isIP(b))
}
