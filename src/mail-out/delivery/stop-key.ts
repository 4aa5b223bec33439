import { isIP, isIPv6 } from 'node:net'

export type IpFamily = 4 | 6

const between = ' from '
/** Where the system chooses our address. */
const anyAddress = { 4: 'any IPv4 address', 6: 'any IPv6 address' }
/** Those that others reach. */
const publicIpv6 = /^[23][\da-f]{3}:/i

/** What names the stop of a group of destinations for one of our addresses. @param source null: the system chooses it, for this host */
export const stopKey = (group: string, source: string | null, host: string): string =>
  group + between + (source ?? anyAddress[familyOf(host)])

/** What `stopKey` was made of. */
export function partsOfStop(key: string): { group: string; source: string | null; family: IpFamily } {
  const at = key.lastIndexOf(between)
  const group = key.slice(0, at)
  const from = key.slice(at + between.length)
  if (isIP(from) === 0) return { group, source: null, family: from === anyAddress[6] ? 6 : 4 }
  return { group, source: from, family: familyOf(from) }
}

const familyOf = (address: string): IpFamily => (isIPv6(address) ? 6 : 4)

/** Of this server; `sources` are those that mail leaves from, if any are set. */
export type OwnAddresses = { sources: readonly { address: string }[]; interfaceAddresses: readonly string[] }

/** 4, and 6 if this machine reaches hosts over IPv6. */
export const ownFamilies = ({ sources, interfaceAddresses }: OwnAddresses): IpFamily[] =>
  sources.some(({ address }) => isIPv6(address)) || interfaceAddresses.some((address) => publicIpv6.test(address)) ? [4, 6] : [4]

/** The stops that all have to hold before nothing can be sent to a group whose hosts are of these families. */
export const stopKeys = (group: string, { sources }: Pick<OwnAddresses, 'sources'>, families: IpFamily[]): string[] =>
  families.flatMap((family) => {
    const own = sources.filter(({ address }) => isIP(address) === family)
    if (own.length > 0) return own.map(({ address }) => stopKey(group, address, address))
    return [group + between + anyAddress[family]]
  })
