import { isIPv4, type Server } from 'node:net'
import { codeOf } from '../durable-file.ts'
import type { Log } from '../log.ts'
import { backlog } from './connection-slots.ts'
import { listenFault } from './listen-fault.ts'

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
