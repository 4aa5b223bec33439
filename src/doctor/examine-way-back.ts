import type { DnsAnswer, MxRecord, Resolver } from '../resolver.ts'
import { isFullName } from '../smtp/domain-name.ts'
import { sayOf, type Finding } from './finding.ts'

interface WayBack {
  hostname: string
  returnPathDomain: string
  /** Whether return_path.listen is set. */
  isListening: boolean
}

/** Whether mail to the return path finds this server. From here we cannot see whether its port is reachable from outside. */
export async function examineWayBack(names: WayBack, resolver: Pick<Resolver, 'mx'>): Promise<Finding> {
  return judgeWayBack(names, await resolver.mx(names.returnPathDomain))
}

export function judgeWayBack(
  { hostname, returnPathDomain, isListening }: WayBack,
  { status, records }: Pick<DnsAnswer<MxRecord>, 'status' | 'records'>,
): Finding {
  const say = sayOf('return_path')
  if (!isListening)
    return say.warning(
      'No server accepts bounces and complaints: return_path.listen is none.',
      'Set return_path.listen, such as 0.0.0.0:2525.',
    )
  if (!isFullName(returnPathDomain))
    return say.skipped('Bounces cannot come back to a name that is not in the DNS.', 'Set hostname, or return_path.domain, to a full name.')
  if (status === 'servfail') return say.skipped(`The MX of ${returnPathDomain} could not be looked up.`, 'Run the check again.')
  const names = records.map(({ exchange }) => exchange.toLowerCase())
  // Without an MX, the name itself is its mail server (RFC 5321 5.1).
  if (names.includes(hostname) || (status === 'nodata' && hostname === returnPathDomain)) {
    return say.ok(`Bounces to ${returnPathDomain} go to port 25 of ${hostname}.`)
  }
  const seen =
    names.length === 0
      ? `${returnPathDomain} has no MX`
      : `The MX of ${returnPathDomain} is ${names.map((name) => name || 'null').join(', ')}`
  return say.warning(
    `${seen}, so bounces do not come back to ${hostname}.`,
    `Publish MX ${returnPathDomain} with "10 ${hostname}", or set return_path.domain to a name of its own.`,
  )
}
