import type { Server } from 'node:http'
import type { HostPort } from '../config/setting-types.ts'
import { backlog } from '../connection/connection-seats.ts'
import { listenFault } from '../connection/listen-fault.ts'

/**
 * Makes a server listen at an address of this setting.
 * @throws SternaError `configuration` if it cannot
 */
export async function listen(server: Server, setting: string, address: HostPort): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen({ host: address.host, port: address.port, backlog }, resolve)
  try {
    await promise
  } catch (error) {
    throw listenFault(setting, address, error)
  }
  server.off('error', reject)
}
