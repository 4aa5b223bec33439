import type { Config } from '../../platform/config/settings.ts'
import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import { parseServer } from '../../platform/dns/dns-sockets.ts'
import { isPublicAddress } from '../../platform/ip-address.ts'
import type { DnsAnswer, Resolver } from '../../platform/resolver.ts'
import { type Finding, sayOf } from './finding.ts'

type DnssecSettings = Pick<Config['dns'], 'servers' | 'dnssecProbe'>

/**
 * Whether the name servers answer, and tell the truth about names that do not exist: if they return an advertisement's address instead,
 * mail to mistyped domains is delivered there.
 * @param madeUp a label that nobody has
 */
export async function examineResolver(resolver: Resolver, madeUp: string, settings: DnssecSettings): Promise<Finding[]> {
  const [root, missing] = await Promise.all([resolver.ns('org'), resolver.a(`${madeUp}.invalid`)])
  if (root.status === 'servfail' && missing.status === 'servfail') {
    return [sayOf('resolver').failed('resolver_silent')]
  }
  if (root.status === 'nxdomain' || root.status === 'nodata') {
    return [sayOf('resolver').failed('resolver_without_org')]
  }
  return [judgeMissing(missing), judgeSecure(root, settings)]
}

/** Whether each of several name servers answers, for a domain's absence counts only if two say so, and validates if one does. */
export async function examineEachServer(eachServer: DnsResolver['eachServer']): Promise<Finding[]> {
  const answers = await Promise.all(eachServer.map(({ mx }) => mx('org')))
  const silent = eachServer.filter((_, i) => answers[i]?.status === 'servfail')
  const findings: Finding[] = []
  if (silent.length > 0 && silent.length < eachServer.length)
    findings.push(sayOf('resolver').warning('resolver_partly_silent', { servers: listed(silent) }))
  const trusting = eachServer.filter((_, i) => answers[i]?.status !== 'servfail' && answers[i]?.secure !== true)
  if (trusting.length > 0 && answers.some(({ secure }) => secure))
    findings.push(sayOf('dnssec').warning('dnssec_partly_validated', { servers: listed(trusting) }))
  return findings
}

const listed = (servers: DnsResolver['eachServer']): string => servers.map(({ server }) => server).join(', ')

function judgeMissing({ status, records }: DnsAnswer<string>): Finding {
  const say = sayOf('resolver')
  if (status === 'nxdomain') return say.ok('resolver_fine')
  if (status === 'servfail') return say.warning('resolver_errs')
  return say.failed('resolver_lies', { answer: records.join(', ') || '-' })
}

function judgeSecure({ secure, status }: DnsAnswer<string>, { servers, dnssecProbe }: DnssecSettings): Finding {
  const say = sayOf('dnssec')
  if (dnssecProbe === null) return say.skipped('dnssec_off')
  if (status === 'servfail') return say.skipped('dnssec_unknown')
  if (secure) return say.ok('dnssec_validated')
  // With none, it is the system's.
  const isFar = servers.every((server) => isPublicAddress(parseServer(server).address))
  return say.warning(isFar ? 'dnssec_far' : 'dnssec_not_validated')
}
