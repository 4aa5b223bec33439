import { isIP } from 'node:net'
import type { RouteResolver } from '../../platform/dns/dns-resolver.ts'
import type { SourceAddress } from '../../platform/config/source-address.ts'
import type { DnsAnswer, MxRecord } from '../../platform/resolver.ts'
import { whyForbidden, type AddressGuard } from './address-guard.ts'
import type { Outcome } from './attempt.ts'
import { bounce, deferral } from './outcome.ts'
import { smarthostKey, type Smarthost } from './smarthost.ts'

/** One address of a host, to connect to without another look-up. */
export interface RouteHost {
  /** The MX host's name; the domain's own if it has no MX record. */
  name: string
  address: string
  port: number
  /** Set for the smarthost. */
  smarthost?: Smarthost
  /** What we connect from; unless set, the system chooses. */
  source?: SourceAddress
  /**
   * The names at which its TLSA records count, the first that has some (RFC 7672 2.2.3). None: a validating name server says that the host
   * is not in signed zones. Undefined: none was asked.
   */
  signedNames?: string[]
  /** True if DNSSEC vouches for the MX record that names it. */
  isAuthentic?: true
}

/** How it is written in transcripts. */
export const hostText = ({ name, address, port, source }: RouteHost): string =>
  `${name} ${address}:${port}${source ? ` from ${source.address}` : ''}`

/** Identifies the host: one address is the same host under any name, but not as another smarthost, nor as none. */
export const hostKey = ({ address, port, smarthost }: RouteHost): string =>
  smarthost === undefined ? `${address} ${port}` : `${address} ${port} ${smarthostKey(smarthost)}`

/** Where a destination's mail goes, the best host first; or its outcome if there is nowhere to go. */
export type Route = FoundRoute | { outcome: Outcome }

export interface FoundRoute {
  hosts: RouteHost[]
  /** The answer that named them; null: it is the smarthost. */
  mx: DnsAnswer<MxRecord> | null
}

export interface RouteServices {
  resolver: RouteResolver
  guard: AddressGuard
  /** Names of this server: it is never its own next hop. */
  ownNames: string[]
  /** The port of MX hosts; 25 except in tests. */
  port: number
  smarthost: Smarthost | null
  /** 0 … 1, spreads mail over hosts of equal preference. */
  random: () => number
}

/** A domain may name any number, and each costs two look-ups. */
const maxHosts = 50
/** One attempt tries some of them, and the next ones others: see `address-order.ts`. */
const maxAddresses = 200
const maxAddressesOfHost = 64

interface LookedUp {
  name: string
  preference: number
  addresses: string[]
  signedNames: string[] | undefined
  isAuthentic: boolean
  /** True if a name server could not tell. */
  isUncertain: boolean
}

/**
 * The next hops of a destination (RFC 5321 5.1, RFC 7505): its MX hosts by preference, or its own address if it has no MX record at all. A
 * failing name server defers. One that says that there is nowhere to go may be wrong, so such a bounce is marked as an absence. A null MX
 * is not one, because somebody has published it.
 */
export async function routeTo(destination: string, services: RouteServices): Promise<Route> {
  if (services.smarthost) return smarthostRoute(services.smarthost, services)
  if (destination.startsWith('[') || isIP(destination) !== 0) {
    return { outcome: bounce('5.1.2 mail is not delivered to address literals', 'policy') }
  }
  const mx = await services.resolver.mx(destination)
  const hosts = hostsOf(destination, mx, services.random)
  if (!Array.isArray(hosts)) return { outcome: hosts }
  const lookedUp = await Promise.all(hosts.map((host) => lookUp(host, services.resolver, mx)))
  const route = choose(destination, lookedUp, services)
  return Array.isArray(route) ? { hosts: route, mx } : { outcome: route }
}

function hostsOf(destination: string, mx: DnsAnswer<MxRecord>, random: () => number): MxRecord[] | Outcome {
  switch (mx.status) {
    case 'servfail':
      return deferral('timeout', `4.4.3 no name server could resolve the MX hosts of ${destination}`).outcome
    case 'nxdomain':
      return absence(`5.1.2 the domain ${destination} does not exist`, 'domain_not_found', 'hard')
    case 'nodata':
      // RFC 5321 5.1: only a domain without any MX record falls back to its address.
      return [{ preference: 0, exchange: destination }]
    case 'ok': {
      const hosts = mx.records.filter(({ exchange }) => exchange !== '')
      if (hosts.length === 0 && mx.records.length > 0) {
        return bounce(`5.1.10 the domain ${destination} accepts no mail (null MX)`, 'invalid_recipient', 'hard')
      }
      return inOrder(hosts.length > 0 ? hosts : [{ preference: 0, exchange: destination }], random)
    }
  }
}

/** By preference, equal ones shuffled, each name once. */
function inOrder(records: MxRecord[], random: () => number): MxRecord[] {
  const shuffled = records.map((record) => ({ preference: record.preference, exchange: record.exchange.toLowerCase(), chance: random() }))
  shuffled.sort((one, other) => one.preference - other.preference || one.chance - other.chance)
  const names = new Set<string>()
  return shuffled.filter(({ exchange }) => !names.has(exchange) && names.add(exchange)).slice(0, maxHosts)
}

async function lookUp({ exchange, preference }: MxRecord, resolver: RouteResolver, mx?: DnsAnswer<MxRecord>): Promise<LookedUp> {
  const [four, six] = await Promise.all([resolver.a(exchange), resolver.aaaa(exchange)])
  const addresses = alternately(four.records, six.records).slice(0, maxAddressesOfHost)
  const isUncertain = four.status === 'servfail' || six.status === 'servfail'
  const signedNames = mx?.secure ? await signedNamesOf(exchange, [four, six], resolver) : mx?.isValidated ? [] : undefined
  return { name: exchange, preference, addresses, isUncertain, signedNames, isAuthentic: mx?.secure === true }
}

/** Those of a host whose MX record is authentic: its TLSA records count if its addresses are authentic too (RFC 7672 2.2). */
async function signedNamesOf(name: string, found: DnsAnswer<string>[], resolver: RouteResolver): Promise<string[] | undefined> {
  const addresses = found.filter(({ status }) => status === 'ok')
  const expandedName = addresses[0]?.expandedName
  if (addresses.every(({ secure }) => secure)) return expandedName === undefined ? [name] : [expandedName, name]
  if (!addresses.every(({ isValidated }) => isValidated === true)) return undefined
  // RFC 7672 2.2.2: an alias in a signed zone, for a host in one that is not.
  if (expandedName === undefined) return []
  const alias = await resolver.cname(name)
  return alias.secure || alias.status === 'servfail' ? [name] : []
}

/** IPv4 and IPv6 in turn, IPv4 first (RFC 8305 4). */
function alternately(four: string[], six: string[]): string[] {
  if (six.length === 0) return four
  const turns = Math.max(four.length, six.length)
  return Array.from({ length: turns }, (_, i) => [...four.slice(i, i + 1), ...six.slice(i, i + 1)]).flat()
}

function choose(destination: string, lookedUp: LookedUp[], services: RouteServices): RouteHost[] | Outcome {
  const isOwn = ({ name, addresses }: LookedUp): boolean =>
    services.ownNames.includes(name) || addresses.some((address) => whyForbidden(address, services.port, services.guard) === 'own')
  // RFC 5321 5.1: hosts that are not better than us would send the mail back.
  const ownPreference = lookedUp.find(isOwn)?.preference ?? Infinity
  const better = lookedUp.filter(({ preference }) => preference < ownPreference)
  if (better.length === 0) return absence(`5.4.6 the mail for ${destination} would loop back to this server`, 'policy')

  const found = better.flatMap(({ name, addresses, signedNames, isAuthentic }) =>
    addresses.map((address): RouteHost => {
      const host = { name, address, port: services.port }
      return signedNames || isAuthentic ? { ...host, ...(signedNames && { signedNames }), ...(isAuthentic && { isAuthentic }) } : host
    }),
  )
  const seen = new Set<string>()
  const hosts = found
    .filter(({ address, port }) => !whyForbidden(address, port, services.guard) && !seen.has(address) && seen.add(address))
    .slice(0, maxAddresses)
  if (hosts.length > 0) return hosts
  if (better.some(({ isUncertain }) => isUncertain)) {
    return deferral('timeout', `4.4.3 no name server could resolve the addresses of the MX hosts of ${destination}`).outcome
  }
  if (found.length === 0) return absence(`5.4.4 no host of ${destination} has an address`, 'domain_not_found')
  const where = found
    .slice(0, 3)
    .map(({ name, address }) => `${name} (${address})`)
    .join(', ')
  return absence(
    `5.4.4 the mail hosts of ${destination} are at ${where}, which is not a public address; delivery.allow_private_addresses allows it`,
    'policy',
  )
}

/** What this server calls itself. */
export const ownNames = ({ hostname, sources = [] }: { hostname: string; sources?: SourceAddress[] }): string[] =>
  [hostname, ...sources.flatMap(({ ehloName }) => ehloName ?? [])].map((name) => name.toLowerCase())

const absence = (...bounced: Parameters<typeof bounce>): Outcome => ({ ...bounce(...bounced), isAbsence: true })

async function smarthostRoute(smarthost: Smarthost, services: RouteServices): Promise<Route> {
  const { host, port, name } = smarthost
  const { addresses } = isIP(host) === 0 ? await lookUp({ exchange: host, preference: 0 }, services.resolver) : { addresses: [host] }
  // The operator named it, so it may be in our own network; only this server itself is excluded.
  const guard = { ...services.guard, allowPrivateAddresses: true }
  const allowed = addresses.filter((address) => !whyForbidden(address, port, guard))
  const hosts = allowed.map((address) => ({ name: host, address, port, smarthost }))
  if (hosts.length > 0) return { hosts, mx: null }
  const reason = addresses.length > 0 ? 'is this server itself' : 'has no address'
  const correct = name === undefined ? 'delivery.smarthost' : `its host: sterna smarthost change ${name}`
  return { outcome: deferral('other', `4.4.4 the smarthost ${host} ${reason}; correct ${correct}`).outcome }
}
