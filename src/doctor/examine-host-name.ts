import ipaddr from 'ipaddr.js'
import type { DnsResolver } from '../dns/dns-resolver.ts'
import { isPublicAddress, reverseName } from '../ip-address.ts'
import { isFullName } from '../smtp/domain-name.ts'
import { type Finding, sayOf } from './finding.ts'

type Names = Pick<DnsResolver, 'a' | 'aaaa' | 'ptr'>

/** The addresses that this server sends from, as others see them. */
interface SendingAddresses {
  addresses: string[]
  /** False if the machine has no public address itself, so we assume those of the host name. */
  areOwn: boolean
}

/** Addresses of a name, IPv4 and IPv6. */
export async function addressesOf(name: string, resolver: Pick<Names, 'a' | 'aaaa'>): Promise<string[]> {
  const [a, aaaa] = await Promise.all([resolver.a(name), resolver.aaaa(name)])
  return [...a.records, ...aaaa.records]
}

/** @param interfaceAddresses of this machine; behind NAT none of them is public */
export function sendingAddresses(interfaceAddresses: string[], ofHostName: string[]): SendingAddresses {
  const own = interfaceAddresses.filter(isPublicAddress)
  return own.length > 0 ? { addresses: own, areOwn: true } : { addresses: ofHostName.filter(isPublicAddress), areOwn: false }
}

/** The EHLO name must be in the DNS and resolve to this server (RFC 5321 4.1.1.1, 4.1.4). */
export function judgeHostName(hostname: string, found: string[], { addresses, areOwn }: SendingAddresses): Finding {
  const say = sayOf('host_name')
  if (!isFullName(hostname)) {
    return say.failed(
      `This server calls itself "${hostname}", which is not a name in the DNS.`,
      'Set hostname to its full name, such as mail.example.com, and publish that name with the address that mail leaves from.',
    )
  }
  if (found.length === 0) {
    return say.failed(
      `${hostname} has no address in the DNS.`,
      `Publish an A record (and AAAA) for ${hostname} with the address that mail leaves from.`,
    )
  }
  const missing = areOwn ? addresses.filter((address) => !found.some((other) => isSame(address, other))) : []
  if (missing.length > 0) {
    return say.warning(
      `${hostname} resolves to ${found.join(', ')}, but mail may also leave from ${missing.join(', ')}.`,
      `Add these addresses to the records of ${hostname}; the SPF records of domains (a:${hostname}) cover only the addresses ` +
        'listed there.',
    )
  }
  return say.ok(`${hostname} is ${found.join(', ')}.`)
}

/** Every sending address needs a name that resolves back to it, because large receivers refuse mail from addresses without one. */
export async function examineReverseDns(hostname: string, { addresses, areOwn }: SendingAddresses, resolver: Names): Promise<Finding[]> {
  if (addresses.length === 0) {
    const advice = isFullName(hostname)
      ? `Publish ${hostname} with the address that mail leaves from, then run the check again.`
      : 'Set hostname first.'
    return [sayOf('reverse_dns').skipped('The public address that mail leaves from is unknown.', advice)]
  }
  return Promise.all(
    addresses.map(async (address) => {
      const { status, records: names } = await resolver.ptr(reverseName(address))
      if (status === 'servfail') {
        return sayOf('reverse_dns').skipped(
          `The reverse DNS of ${address} could not be looked up.`,
          'Run the check again; if this persists, ask your provider.',
        )
      }
      const confirmed = await Promise.all(names.slice(0, 5).map(async (name) => ({ name, leadsTo: await addressesOf(name, resolver) })))
      return judgeReverse({ address, hostname, areOwn }, confirmed)
    }),
  )
}

/** @param names of the address, each with its own addresses */
export function judgeReverse(
  { address, hostname, areOwn }: { address: string; hostname: string; areOwn: boolean },
  names: { name: string; leadsTo: string[] }[],
): Finding {
  const say = sayOf('reverse_dns')
  const inexact = areOwn ? '' : ` (${address} is the address of ${hostname} in the DNS; the machine itself has no public address)`
  const ask = `Ask your provider to set the reverse DNS (PTR) of ${address} to ${hostname}`
  if (names.length === 0) return say.failed(`${address} has no reverse DNS${inexact}.`, `${ask}.`)
  const back = names.filter(({ leadsTo }) => leadsTo.some((other) => isSame(address, other))).map(({ name }) => name)
  const all = names.map(({ name }) => name).join(', ')
  if (back.length === 0)
    return say.failed(
      `The reverse DNS of ${address} is ${all}, which does not resolve back to it${inexact}.`,
      `${ask}, and publish that name with this address.`,
    )
  if (!back.includes(hostname))
    return say.warning(
      `The reverse DNS of ${address} is ${all}, but this server calls itself ${hostname}.`,
      `${ask}, or set hostname to ${back[0]}.`,
    )
  return say.ok(`The reverse DNS of ${address} is ${hostname}, which resolves back to it.`)
}

const isSame = (one: string, other: string): boolean => ipaddr.process(one).toString() === ipaddr.process(other).toString()
