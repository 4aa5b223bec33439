import type { DnsResolver } from '../dns/dns-resolver.ts'
import type { DnsAnswer, MxRecord } from '../resolver.ts'
import { isFullName } from '../smtp/domain-name.ts'
import { addressesOf } from './examine-host-name.ts'
import { shown, type Greet, type Greeting } from './examine-port-25.ts'
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
  const [address] = await addressesOf(names.hostname, resolver)
  return address === undefined ? [route] : [route, judgeReturnPort(names.hostname, await greet(address, 25))]
}

/** @param greeting of port 25 of our own name, as seen from here */
export function judgeReturnPort(hostname: string, greeting: Greeting): Finding {
  const say = sayOf('return_path')
  const forward = 'Forward port 25 to return_path.listen (in a container: -p 25:2525), and open it in the firewall.'
  if ('fault' in greeting)
    return say.warning(
      `Port 25 of ${hostname} does not answer here: ${greeting.fault}. Bounces would not come back.`,
      `${forward} Some networks cannot reach their own public address; then test it from another machine: sterna doctor --of ${hostname}`,
    )
  if (!greeting.line.toLowerCase().startsWith(`220 ${hostname} `))
    return say.warning(`At port 25 of ${hostname} another mail server answers: "${shown(greeting.line)}".`, `Stop it there. ${forward}`)
  return say.ok(`Port 25 of ${hostname} answers as this server.`)
}

export function judgeWayBack(
  { hostname, returnPathDomain, isListening }: WayBack,
  { status, records }: Pick<DnsAnswer<MxRecord>, 'status' | 'records'>,
): Finding {
  const say = sayOf('return_path')
  if (!isListening)
    return say.warning(
      'No server accepts bounces and complaints: return_path.listen is none.',
      'Set return_path.listen, such as [::]:2525.',
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
