import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import type { DnsAnswer, Resolver } from '../../platform/resolver.ts'
import { type Finding, sayOf } from './finding.ts'

/**
 * Whether the name servers answer, and tell the truth about names that do not exist: if they return an advertisement's address instead,
 * mail to mistyped domains is delivered there.
 * @param madeUp a label that nobody has
 */
export async function examineResolver(resolver: Resolver, madeUp: string): Promise<Finding[]> {
  const [root, missing] = await Promise.all([resolver.ns('org'), resolver.a(`${madeUp}.invalid`)])
  if (root.status === 'servfail' && missing.status === 'servfail') {
    return [sayOf('resolver').failed('resolver_silent')]
  }
  if (root.status === 'nxdomain' || root.status === 'nodata') {
    return [sayOf('resolver').failed('resolver_without_org')]
  }
  return [judgeMissing(missing), judgeSecure(root)]
}

/** Whether each of several name servers answers: a domain's absence counts only if two say so. */
export async function examineEachServer(eachServer: DnsResolver['eachServer']): Promise<Finding[]> {
  const answers = await Promise.all(eachServer.map(({ mx }) => mx('org')))
  const silent = eachServer.filter((_, i) => answers[i]?.status === 'servfail')
  if (silent.length === 0 || silent.length === eachServer.length) return []
  return [sayOf('resolver').warning('resolver_partly_silent', { servers: silent.map(({ server }) => server).join(', ') })]
}

function judgeMissing({ status, records }: DnsAnswer<string>): Finding {
  const say = sayOf('resolver')
  if (status === 'nxdomain') return say.ok('resolver_fine')
  if (status === 'servfail') return say.warning('resolver_errs')
  return say.failed('resolver_lies', { answer: records.join(', ') || '-' })
}

function judgeSecure({ secure, status }: DnsAnswer<string>): Finding {
  const say = sayOf('dnssec')
  if (status === 'servfail') return say.skipped('dnssec_unknown')
  return secure ? say.ok('dnssec_validated') : say.warning('dnssec_not_validated')
}
