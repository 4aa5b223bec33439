import { isIP } from 'node:net'
import type { HostPort } from '../../platform/config/setting-types.ts'
import type { Resolver } from '../../platform/resolver.ts'
import { type Finding, sayOf } from './finding.ts'

/** The result of a connection: the first line, or why there was none. */
export type Greeting = { line: string } | { fault: string }

/** Connects, with TLS from the first byte or without, from one of our addresses if given, and reads a line. Never throws; ends by itself. */
export type Greet = (address: string, port: number, isTls?: boolean, from?: string) => Promise<Greeting>

export interface Greeter extends HostPort {
  isTls?: boolean
}

/** Whether the hosts are reachable on their port: many providers block 25 until you ask. */
export async function examinePort25(hosts: Greeter[], resolver: Resolver, greet: Greet): Promise<Finding[]> {
  if (hosts.length === 0) return [sayOf('port_25').skipped('port_25_untested')]
  const tries = await Promise.all(hosts.map(async (host) => ({ host, greetings: await tryHost(host, resolver, greet) })))
  const best = tries.map(({ host, greetings }) => ({ host, greeting: bestOf(greetings) }))
  const overIpv6 = tries.flatMap(({ host, greetings: [, six] }) => (six && !hasNoWay(six) ? [{ host, greeting: six }] : []))
  return [judgeTries(best), ...judgeIpv6(overIpv6)]
}

/** What tells most about the host. */
function bestOf(greetings: (Greeting | null)[]): Greeting {
  const given = greetings.filter((greeting) => greeting !== null)
  return given.find(isGreeted) ?? given.find((greeting) => !hasNoWay(greeting)) ?? given[0] ?? { fault: 'its address was not found' }
}

/** What tells most about the host, over either family. */
export const bestGreeting = async (host: Greeter, resolver: Resolver, greet: Greet): Promise<Greeting> =>
  bestOf(await tryHost(host, resolver, greet))

/** Over IPv4 and over IPv6; null for a family of which the host has no address. */
async function tryHost({ host, port, isTls }: Greeter, resolver: Resolver, greet: Greet): Promise<(Greeting | null)[]> {
  const answers = isIP(host) === 0 ? await Promise.all([resolver.a(host), resolver.aaaa(host)]) : [{ records: [host] }]
  return Promise.all(answers.map(({ records: [address] }) => (address === undefined ? null : greet(address, port, isTls))))
}

export const isGreeted = (greeting: Greeting): boolean => 'line' in greeting && /^220[ -]/.test(greeting.line)

/** Whether this machine has no network of the address's family; it says nothing about the host. */
export const hasNoWay = (greeting: Greeting): boolean =>
  'fault' in greeting && /ENETUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT/.test(greeting.fault)

/** Where some host answers over IPv6, the others' faults are theirs. */
function judgeIpv6(tries: { host: HostPort; greeting: Greeting }[]): Finding[] {
  if (tries.length === 0) return []
  const hosts = tries.map(({ host }) => host.host).join(', ')
  const say = sayOf('port_25')
  return [
    tries.some(({ greeting }) => isGreeted(greeting))
      ? say.ok('port_25_ipv6_open', { hosts })
      : say.warning('port_25_ipv6_closed', { hosts }),
  ]
}

/** A greeting proves that the port is open. */
export function judgeTries(tries: { host: HostPort; greeting: Greeting }[]): Finding {
  const say = sayOf('port_25')
  const bad = tries.filter(({ greeting }) => !isGreeted(greeting))
  const hosts = bad.map(({ host, greeting }) => shownGreeting(host, greeting)).join('; ')
  if (bad.length === 0) return say.ok('port_25_open', { hosts: tries.map(({ host }) => host.host).join(', ') })
  return bad.length < tries.length ? say.warning('port_25_partly_open', { hosts }) : say.failed('port_25_closed', { hosts })
}

export const shownGreeting = ({ host, port }: HostPort, greeting: Greeting): string =>
  `${host} port ${port}: ${'fault' in greeting ? greeting.fault : `"${shown(greeting.line)}"`}`

/** A line that a stranger wrote, for people. */
export const shown = (line: string): string => line.slice(0, 100).replace(/[^ -~]/gu, '?')
