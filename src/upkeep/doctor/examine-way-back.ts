import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import type { DnsAnswer, MxRecord } from '../../platform/resolver.ts'
import { pointsTo } from '../../senders/sending-domain/check-records.ts'
import { isFullName } from '../../platform/smtp/domain-name.ts'
import { addressesOf, someOfEachFamily } from './examine-host-name.ts'
import { hasNoWay, shown, type Greet, type Greeting } from './examine-port-25.ts'
import { sayOf, type Finding } from './finding.ts'

interface WayBack {
  hostname: string
  returnPathDomain: string
  /** Whether return_path.listen is set. */
  isListening: boolean
}

/** Whether mail to the return path finds this server, and whether port 25 there answers. */
export async function examineWayBack(names: WayBack, resolver: Pick<DnsResolver, 'a' | 'aaaa' | 'mx'>, greet: Greet): Promise<Finding[]> {
  const route = judgeWayBack(names, await resolver.mx(names.returnPathDomain))
  if (route.status !== 'ok') return [route]
  const addresses = someOfEachFamily(await addressesOf(names.hostname, resolver))
  const answers = addresses.map(async (address) => judgeReturnPort({ host: names.hostname, address }, await greet(address, 25)))
  return [route, ...(await Promise.all(answers))]
}

/** @param greeting of port 25 of one of our own addresses, as seen from here */
export function judgeReturnPort(at: { host: string; address: string }, greeting: Greeting): Finding {
  const say = sayOf('return_path')
  if (hasNoWay(greeting)) return say.skipped('return_path_no_way', at)
  if ('fault' in greeting) return say.warning('return_path_port_silent', { ...at, fault: greeting.fault })
  if (!greeting.line.toLowerCase().startsWith(`220 ${at.host} `)) {
    return say.warning('return_path_port_taken', { ...at, greeting: shown(greeting.line) })
  }
  return say.ok('return_path_port_fine', at)
}

export function judgeWayBack(
  { hostname: host, returnPathDomain: domain, isListening }: WayBack,
  { status, records }: Pick<DnsAnswer<MxRecord>, 'status' | 'records'>,
): Finding {
  const say = sayOf('return_path')
  if (!isListening) return say.warning('return_path_not_listening')
  if (!isFullName(domain)) return say.skipped('return_path_not_in_dns')
  if (status === 'servfail') return say.skipped('return_path_mx_unknown', { domain })
  const names = records.map(({ exchange }) => exchange.toLowerCase())
  // Without an MX, the name itself is its mail server (RFC 5321 5.1).
  if (pointsTo(records, host) || (status === 'nodata' && host === domain)) return say.ok('return_path_mx_fine', { domain, host })
  if (names.length === 0) return say.warning('return_path_mx_none', { domain, host })
  return say.warning('return_path_mx_elsewhere', { domain, host, hosts: names.map((name) => name || 'null').join(', ') })
}
