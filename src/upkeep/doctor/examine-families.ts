import { isIP, isIPv4 } from 'node:net'
import { isLoopback } from '../../platform/ip-address.ts'
import { sayOf, type Finding } from './finding.ts'

/** What one setting says. */
interface ListenSetting {
  name: string
  places: readonly { host: string; port: number }[]
}

interface FamilyServices {
  host: string
  /** The addresses of `host` in the DNS. */
  found: readonly string[]
  /** Of this machine. */
  interfaceAddresses: readonly string[]
  listening: readonly ListenSetting[]
}

const families = [
  { family: 6, name: 'IPv6', code: 'listeners_lack_ipv6', everywhere: '[::]' },
  { family: 4, name: 'IPv4', code: 'listeners_lack_ipv4', everywhere: '0.0.0.0' },
] as const

/**
 * Whether our listeners take each family under which the host is in the DNS: clients that prefer the other one are refused otherwise. A
 * listener on loopback is somebody else's, who stands in front of it.
 */
export function judgeFamilies({ host, found, interfaceAddresses, listening }: FamilyServices): Finding[] {
  const say = sayOf('reachable')
  const open = listening.filter(({ places }) => places.some((place) => !isOnLoopback(place.host)))
  const faults = families.flatMap(({ family, code }): Finding[] => {
    const published = found.filter((address) => isIP(address) === family)
    const deaf = open.filter(({ places }) => !places.some((place) => takes(family, place, places)))
    if (published.length === 0 || deaf.length === 0) return []
    const [first] = deaf
    // Where the address is the machine's own, nobody can stand in front and translate.
    const status = published.some((address) => interfaceAddresses.includes(address)) ? 'failed' : 'warning'
    const parameters = {
      host,
      addresses: published.join(', '),
      settings: deaf.map(({ name, places }) => `${name} (${places.map(shown).join(', ')})`).join(', '),
      setting: first?.name ?? '',
      port: first?.places.find((place) => !isOnLoopback(place.host))?.port ?? 0,
    }
    return [say[status](code, parameters)]
  })
  const used = families.filter(({ family }) => found.some((address) => isIP(address) === family)).map(({ name }) => name)
  if (faults.length > 0 || used.length === 0) return faults
  return [say.ok('listeners_fine', { host, families: used.toReversed().join(', ') })]
}

/** As `listen` in `connection` opens it: `::` takes IPv4 too, unless there is an IPv4 address for the same port. A name takes either. */
function takes(family: 4 | 6, { host, port }: ListenSetting['places'][number], all: ListenSetting['places']): boolean {
  if (isOnLoopback(host)) return false
  const isOnlyIpv6 = host !== '::' || all.some((other) => isIPv4(other.host) && other.port === port)
  return isIP(host) === 0 || isIP(host) === family || (isIP(host) === 6 && !isOnlyIpv6)
}

const isOnLoopback = (host: string): boolean => host === 'localhost' || isLoopback(host)

const shown = ({ host, port }: { host: string; port: number }): string => `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
