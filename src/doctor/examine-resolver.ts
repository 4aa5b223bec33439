import type { DnsResolver } from '../dns/dns-resolver.ts'
import type { DnsAnswer, Resolver } from '../resolver.ts'
import { type Finding, sayOf } from './finding.ts'

/**
 * Whether the name servers answer, and tell the truth about names that do not exist: if they return an advertisement's address instead,
 * mail to mistyped domains is delivered there.
 * @param madeUp a label that nobody has
 * @param isSuspect whether the serving process currently distrusts them
 */
export async function examineResolver(resolver: Resolver, madeUp: string, isSuspect: boolean): Promise<Finding[]> {
  const [root, missing] = await Promise.all([resolver.ns('org'), resolver.a(`${madeUp}.invalid`)])
  if (root.status === 'servfail' && missing.status === 'servfail') {
    return [
      sayOf('resolver').failed(
        'The name servers do not answer.',
        'Set dns.servers to a resolver that works from here, preferably your own, such as unbound on this machine. ' +
          'Without one no mail leaves.',
      ),
    ]
  }
  if (root.status === 'nxdomain' || root.status === 'nodata') {
    return [
      sayOf('resolver').failed(
        'The name servers do not know the top-level domain org, so they do not serve the names of the internet.',
        'Set dns.servers to a resolver that does, preferably your own, such as unbound on this machine. Without one no mail leaves.',
      ),
    ]
  }
  if (isSuspect) {
    return [
      sayOf('resolver').failed(
        'The name servers say that many domains we have mail for do not exist, including domains that existed before.',
        'Mail to these domains waits and does not bounce. Set dns.servers to a resolver that works, preferably your own, such as unbound.',
      ),
      judgeSecure(root),
    ]
  }
  return [judgeMissing(missing), judgeSecure(root)]
}

/** Whether each of several name servers answers: a domain's absence counts only if two say so. */
export async function examineEachServer(eachServer: DnsResolver['eachServer']): Promise<Finding[]> {
  const answers = await Promise.all(eachServer.map(({ mx }) => mx('org')))
  const silent = eachServer.filter((_, i) => answers[i]?.status === 'servfail')
  if (silent.length === 0 || silent.length === eachServer.length) return []
  return [
    sayOf('resolver').warning(
      `These name servers do not answer: ${silent.map(({ server }) => server).join(', ')}.`,
      'Repair them or remove them from dns.servers. Mail to a domain that does not exist bounces only if two of them ' +
        'say so, or the only one.',
    ),
  ]
}

function judgeMissing({ status, records }: DnsAnswer<string>): Finding {
  const say = sayOf('resolver')
  if (status === 'nxdomain') return say.ok('The name servers answer, and say when a name does not exist.')
  if (status === 'servfail') {
    return say.warning(
      'The name servers return an error for a name that does not exist.',
      'Mail to mistyped domains then waits for days instead of bouncing. Set dns.servers to another resolver, preferably your own.',
    )
  }
  return say.failed(
    `The name servers return an answer (${records.join(', ') || 'an empty one'}) for a name that cannot exist.`,
    'Mail to mistyped domains would go there. Set dns.servers to a resolver that does not rewrite answers, ' +
      'preferably your own, such as unbound.',
  )
}

function judgeSecure({ secure, status }: DnsAnswer<string>): Finding {
  const say = sayOf('dnssec')
  if (status === 'servfail') return say.skipped('The name servers of org could not be looked up.', 'Run the check again.')
  if (secure) return say.ok('The name servers validate DNSSEC.')
  return say.warning(
    'The name servers do not validate DNSSEC, so forged answers go unnoticed.',
    'Set dns.servers to a validating resolver on this machine, such as unbound.',
  )
}
