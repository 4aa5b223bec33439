import { isIP } from 'node:net'
import type { SourceAddress } from '../../platform/config/source-address.ts'
import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import { examineReverseDns, judgeHostName, publishedFor } from './examine-host-name.ts'
import { bestGreeting, hasNoWay, isGreeted, shownGreeting, type Greeter, type Greet } from './examine-port-25.ts'
import { type Finding, sayOf } from './finding.ts'
import type { NamedAddress } from './named-addresses.ts'

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
