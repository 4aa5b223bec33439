import { isIP } from 'node:net'
import type { SourceAddress } from '../../platform/config/source-address.ts'
import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import { isPublicAddress } from '../../platform/ip-address.ts'
import { isFullName } from '../../platform/smtp/domain-name.ts'
import { addressesOf, examineReverseDns, judgeHostName, sendingAddresses, type SendingAddress } from './examine-host-name.ts'
import { bestGreeting, hasNoWay, isGreeted, shownGreeting, type Greeter, type Greet } from './examine-port-25.ts'
import { type Finding, sayOf } from './finding.ts'

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
 * What mail leaves from, as others see it: of a family with source addresses these, else what the system may choose. One that is not public is behind
 * NAT, so we assume the address of its name.
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

/** The names in EHLO and the reverse DNS, for each name and its addresses; hostname is judged in any case. */
export async function examineNames(hostname: string, sending: NamedAddress[], resolver: DnsResolver): Promise<Finding[]> {
  const names = [...new Set([hostname, ...sending.map(({ name }) => name)])]
  const findings = await Promise.all(
    names.map(async (name) => {
      const own = sending.filter((each) => each.name === name)
      const reverse = own.length === 0 && names.length > 1 ? [] : await examineReverseDns(name, own, resolver)
      return [judgeHostName(name, await publishedFor(name, resolver), own), ...reverse]
    }),
  )
  return findings.flat()
}

/** Whether the machine has each source address, and port 25 is open from there. */
export async function examineSources(
  sources: readonly SourceAddress[],
  hosts: Greeter[],
  { greet, isLocalAddress, resolver }: { greet: Greet; isLocalAddress(address: string): Promise<boolean>; resolver: DnsResolver },
): Promise<Finding[]> {
  const say = sayOf('port_25')
  const findings = sources.map(async ({ address }): Promise<Finding[]> => {
    if (!(await isLocalAddress(address))) return [say.failed('source_missing', { address })]
    const from: Greet = (host, port, isTls) =>
      isIP(host) === isIP(address) ? greet(host, port, isTls, address) : Promise.resolve({ fault: 'EAFNOSUPPORT' })
    const tries = await Promise.all(hosts.map(async (host) => ({ host, greeting: await bestGreeting(host, resolver, from) })))
    const asked = tries.filter(({ greeting }) => !hasNoWay(greeting))
    if (asked.length === 0) return hosts.length === 0 ? [] : [say.skipped('source_untested', { address })]
    const open = asked.filter(({ greeting }) => isGreeted(greeting))
    if (open.length > 0) return [say.ok('source_open', { address, hosts: open.map(({ host }) => host.host).join(', ') })]
    return [say.failed('source_closed', { address, hosts: asked.map(({ host, greeting }) => shownGreeting(host, greeting)).join('; ') })]
  })
  return (await Promise.all(findings)).flat()
}

const publishedFor = async (name: string, resolver: Pick<DnsResolver, 'a' | 'aaaa'>): Promise<string[]> =>
  isFullName(name) ? addressesOf(name, resolver) : []
