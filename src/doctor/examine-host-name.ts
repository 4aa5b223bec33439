import ipaddr from 'ipaddr.js'
import type { DnsResolver } from '../dns/dns-resolver.ts'
import { isPublicAddress } from '../ip-address.ts'
import { isFullName } from '../smtp/domain-name.ts'
import { type Finding, sayOf } from './finding.ts'

type Names = Pick<DnsResolver, 'a' | 'aaaa' | 'ptr'>

/** Where this server is seen to send from. */
interface SendingAddresses {
  addresses: string[]
  /** False where the machine has no public address itself, so that those of the host name are taken for it. */
  areOwn: boolean
}

/** Addresses of a name, of both kinds. */
export async function addressesOf(name: string, resolver: Pick<Names, 'a' | 'aaaa'>): Promise<string[]> {
  const [a, aaaa] = await Promise.all([resolver.a(name), resolver.aaaa(name)])
  return [...a.records, ...aaaa.records]
}

/** @param interfaceAddresses of this machine; behind a translation of addresses none of them is public */
export function sendingAddresses(interfaceAddresses: string[], ofHostName: string[]): SendingAddresses {
  const own = interfaceAddresses.filter(isPublicAddress)
  return own.length > 0 ? { addresses: own, areOwn: true } : { addresses: ofHostName.filter(isPublicAddress), areOwn: false }
}

/** What is said in EHLO must be a name in the DNS that leads back here (RFC 5321 4.1.1.1, 4.1.4). */
export function judgeHostName(hostname: string, found: string[], { addresses, areOwn }: SendingAddresses): Finding {
  const say = sayOf('host_name')
  if (!isFullName(hostname)) {
    return say.failed(
      `This server calls itself "${hostname}", which is no name in the DNS.`,
      'Set hostname to its full name, such as mail.example.com, and publish that name with the address mail leaves from.',
    )
  }
  if (found.length === 0) {
    return say.failed(
      `${hostname} has no address in the DNS.`,
      `Publish an A record (and AAAA) for ${hostname} with the address mail leaves from.`,
    )
  }
  const missing = areOwn ? addresses.filter((address) => !found.some((other) => isSame(address, other))) : []
  if (missing.length > 0) {
    return say.warning(
      `${hostname} is ${found.join(', ')}, but mail may leave from ${missing.join(', ')} too.`,
      `Add these addresses to the records of ${hostname}; its SPF record for domains (a:${hostname}) covers only what stands there.`,
    )
  }
  return say.ok(`${hostname} is ${found.join(', ')}.`)
}

/** Each sending address needs a name that leads back to it: large receivers refuse mail from others. */
export async function examineReverseDns(hostname: string, { addresses, areOwn }: SendingAddresses, resolver: Names): Promise<Finding[]> {
  if (addresses.length === 0) {
    const advice = isFullName(hostname)
      ? `Publish ${hostname} with the address mail leaves from, then run the check again.`
      : 'Set hostname first.'
    return [sayOf('reverse_dns').skipped('It is not known which public address mail leaves from.', advice)]
  }
  return Promise.all(
    addresses.map(async (address) => {
      const { status, records: names } = await resolver.ptr(reverseName(address))
      if (status === 'servfail') {
        return sayOf('reverse_dns').skipped(
          `The name of ${address} could not be looked up.`,
          'Run the check again; where it stays so, ask your provider.',
        )
      }
      const confirmed = await Promise.all(names.slice(0, 5).map(async (name) => ({ name, leadsTo: await addressesOf(name, resolver) })))
      return judgeReverse({ address, hostname, areOwn }, confirmed)
    }),
  )
}

/** @param names of the address, each with the addresses it has itself */
export function judgeReverse(
  { address, hostname, areOwn }: { address: string; hostname: string; areOwn: boolean },
  names: { name: string; leadsTo: string[] }[],
): Finding {
  const say = sayOf('reverse_dns')
  const inexact = areOwn ? '' : ` (${address} is what ${hostname} has in the DNS; the machine itself has no public address)`
  const ask = `Ask your provider to set the reverse DNS (PTR) of ${address} to ${hostname}`
  if (names.length === 0) return say.failed(`${address} has no name in the reverse DNS${inexact}.`, `${ask}.`)
  const back = names.filter(({ leadsTo }) => leadsTo.some((other) => isSame(address, other))).map(({ name }) => name)
  const all = names.map(({ name }) => name).join(', ')
  if (back.length === 0)
    return say.failed(
      `${address} is called ${all}, which does not lead back to it${inexact}.`,
      `${ask}, and publish that name with this address.`,
    )
  if (!back.includes(hostname))
    return say.warning(`${address} is called ${all}, and this server calls itself ${hostname}.`, `${ask}, or set hostname to ${back[0]}.`)
  return say.ok(`${address} is called ${hostname}, which leads back to it.`)
}

/** The name of an address under in-addr.arpa (RFC 1035 3.5) or ip6.arpa (RFC 3596 2.5). */
export const reverseName = (address: string): string =>
  `${reversedLabels(address)}.${ipaddr.process(address).kind() === 'ipv4' ? 'in-addr' : 'ip6'}.arpa`

/** The bytes of an IPv4 address, or the hexadecimal digits of an IPv6 address, the last first, with dots between. */
export function reversedLabels(address: string): string {
  const ip = ipaddr.process(address)
  const bytes = ip.toByteArray()
  const labels = ip.kind() === 'ipv4' ? bytes.map(String) : [...Buffer.from(bytes).toString('hex')]
  return labels.toReversed().join('.')
}

const isSame = (one: string, other: string): boolean => ipaddr.process(one).toString() === ipaddr.process(other).toString()
