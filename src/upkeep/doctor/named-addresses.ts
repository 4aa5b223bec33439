import { isIP } from 'node:net'
import type { SourceAddress } from '../../platform/config/source-address.ts'
import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import { isPublicAddress } from '../../platform/ip-address.ts'
import { publishedFor, sendingAddresses, type SendingAddress } from './examine-host-name.ts'

interface SourceServices {
  hostname: string
  /** What is set. */
  sources: readonly SourceAddress[]
  resolver: Pick<DnsResolver, 'a' | 'aaaa'>
}

/** An address that mail leaves from, and what we call ourselves there. */
export interface NamedAddress extends SendingAddress {
  name: string
}

/**
 * What mail leaves from, as others see it: of a family with source addresses these, else what the system may choose. One that is not public
 * is behind NAT, so we assume the address of its name.
 */
export async function namedAddresses(
  { hostname, sources, resolver }: SourceServices,
  interfaceAddresses: string[],
): Promise<NamedAddress[]> {
  const found = await publishedFor(hostname, resolver)
  const isListed = (family: number): boolean => sources.some(({ address }) => isIP(address) === family)
  const ofSystem = sendingAddresses(interfaceAddresses, found).filter(({ address }) => !isListed(isIP(address)))
  const listed = await Promise.all(
    sources.map(async ({ address, ehloName }): Promise<NamedAddress[]> => {
      const name = ehloName ?? hostname
      if (isPublicAddress(address)) return [{ address, isOwn: true, name }]
      const published = (await publishedFor(name, resolver)).filter((each) => isIP(each) === isIP(address) && isPublicAddress(each))
      return published.map((each) => ({ address: each, isOwn: false, name }))
    }),
  )
  return [...ofSystem.map((each) => ({ ...each, name: hostname })), ...listed.flat()]
}
