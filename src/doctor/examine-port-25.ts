import { isIP } from 'node:net'
import type { HostPort } from '../config/setting-types.ts'
import type { Resolver } from '../resolver.ts'
import { type Finding, sayOf } from './finding.ts'

/** The result of a connection: the first line, or why there was none. */
export type Greeting = { line: string } | { fault: string }

/** Connects, with or without TLS from the first byte, and reads one line; never throws, and ends by itself. */
export type Greet = (address: string, port: number, isTls?: boolean) => Promise<Greeting>

interface Greeter extends HostPort {
  isTls?: boolean
}

/** Whether the hosts are reachable on their port: many providers block 25 until you ask. */
export async function examinePort25(hosts: Greeter[], resolver: Resolver, greet: Greet): Promise<Finding[]> {
  if (hosts.length === 0) {
    return [
      sayOf('port_25').skipped('No hosts are configured for testing port 25.', 'Set doctor.port_25_hosts to some well-known MX hosts.'),
    ]
  }
  const tries = await Promise.all(hosts.map(async (host) => ({ host, greeting: await tryHost(host, resolver, greet) })))
  return [judgeTries(tries)]
}

async function tryHost({ host, port, isTls }: Greeter, resolver: Resolver, greet: Greet): Promise<Greeting> {
  const { records } = isIP(host) === 0 ? await resolver.a(host) : { records: [host] }
  return records[0] === undefined ? { fault: 'its address was not found' } : greet(records[0], port, isTls)
}

/** A greeting proves that the port is open. */
export function judgeTries(tries: { host: HostPort; greeting: Greeting }[]): Finding {
  const say = sayOf('port_25')
  const isGreeted = ({ greeting }: { greeting: Greeting }): boolean => 'line' in greeting && /^220[ -]/.test(greeting.line)
  const bad = tries.filter((each) => !isGreeted(each))
  const words = bad.map(
    ({ host, greeting }) => `${host.host} port ${host.port}: ${'fault' in greeting ? greeting.fault : `"${shown(greeting.line)}"`}`,
  )
  if (bad.length === 0) return say.ok(`${tries.map(({ host }) => host.host).join(', ')} can be reached.`)
  if (bad.length < tries.length) {
    return say.warning(
      `Some MX hosts cannot be reached: ${words.join('; ')}.`,
      'Where it is always the same, its operator may block this server: look at its bounces.',
    )
  }
  return say.failed(
    `No MX host can be reached: ${words.join('; ')}.`,
    'Ask your provider to open outgoing port 25 and check your firewall, or set delivery.smarthost to a host that relays mail for you.',
  )
}

/** A line that a stranger wrote, for people. */
export const shown = (line: string): string => line.slice(0, 100).replace(/[^ -~]/gu, '?')
