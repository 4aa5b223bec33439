import { isIPv4, type Server } from 'node:net'
import { codeOf } from '../durable-file.ts'
import { SternaError } from '../errors.ts'
import type { Log } from '../log.ts'
import { reasonOf } from '../plain-reason.ts'
import { backlog } from './connection-slots.ts'

/** An IP address or a name, and a port; port 0 lets the system choose. */
interface Place {
  host: string
  port: number
}

interface ListenServices {
  /** The name of its setting. */
  setting: string
  /** All places of the setting. */
  all: readonly Place[]
  log: Log
}

/** The address that stands for IPv6, and with it IPv4. */
const everywhere = '::'
/** What a machine says that has no IPv6, or has it disabled. */
const noIpv6 = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL', 'EPROTONOSUPPORT'])

/**
 * Makes a server listen. `::` takes IPv4 too, unless the setting has an IPv4 address of its own for this port; on a machine without IPv6
 * it becomes 0.0.0.0, and the log says so.
 * @throws SternaError `configuration` if it cannot
 */
export async function listen(server: Server, place: Place, { setting, all, log }: ListenServices): Promise<void> {
  const ipv6Only = all.some(({ host, port }) => isIPv4(host) && port === place.port && port !== 0)
  try {
    await opened(server, { ...place, ipv6Only })
  } catch (error) {
    if (place.host !== everywhere || ipv6Only || !noIpv6.has(codeOf(error))) throw listenFault(setting, place, error)
    log.info({ setting, port: place.port }, 'this machine has no IPv6: listening on IPv4 only')
    await listen(server, { ...place, host: '0.0.0.0' }, { setting, all: [], log })
  }
}

async function opened(server: Server, place: Place & { ipv6Only: boolean }): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen({ ...place, backlog }, resolve)
  try {
    await promise
  } finally {
    server.off('error', reject).off('listening', resolve)
  }
}

/** Why a server cannot listen at an address of this setting, and what to do about it. */
function listenFault(setting: string, { host, port }: Place, error: unknown): SternaError {
  const advice = adviceFor(codeOf(error), port)
  const message = `${setting}: cannot listen on ${host} port ${port}: ${reasonOf(error)}${advice}`
  return new SternaError('configuration', message, { cause: error })
}

function adviceFor(code: string, port: number): string {
  if (code === 'EACCES' && port < 1024) return `.\n${howToGetPort(port)}`
  if (code === 'EADDRINUSE') return `.\n  "ss -ltnp sport = :${port}" shows the program. Stop it, or set another port.`
  if (code === 'EADDRNOTAVAIL') return `.\n  Write [::] for all addresses of this machine.`
  if (code === 'EAFNOSUPPORT') return `.\n  Write 0.0.0.0 for all its IPv4 addresses.`
  return ''
}

/** Only the superuser may listen below port 1024, and Sterna should not run as one. */
const howToGetPort = (port: number): string =>
  `  Ports below 1024 need a right that this user does not have. One of these gives it:
  - systemd: add AmbientCapabilities=CAP_NET_BIND_SERVICE to [Service] in the unit
  - without systemd: sudo setcap cap_net_bind_service=+ep ${process.execPath}
    (gives it to every program that this Node runs; repeat it after each update of Node)
  - a container: listen on another port, such as ${port + 2500}, and publish it with -p ${port}:${port + 2500}
  - otherwise: listen on another port, such as ${port + 2500}, and have the firewall redirect port ${port} to it`
