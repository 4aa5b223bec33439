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
  if (hosts.length === 0) return [sayOf('port_25').skipped('port_25_untested')]
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
  const hosts = bad
    .map(({ host, greeting }) => `${host.host} port ${host.port}: ${'fault' in greeting ? greeting.fault : `"${shown(greeting.line)}"`}`)
    .join('; ')
  if (bad.length === 0) return say.ok('port_25_open', { hosts: tries.map(({ host }) => host.host).join(', ') })
  return bad.length < tries.length ? say.warning('port_25_partly_open', { hosts }) : say.failed('port_25_closed', { hosts })
}

/** A line that a stranger wrote, for people. */
export const shown = (line: string): string => line.slice(0, 100).replace(/[^ -~]/gu, '?')
