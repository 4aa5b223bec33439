import type { Server } from 'node:http'
import type { HostPort } from '../config/setting-types.ts'
import { messageOf, SternaError } from '../errors.ts'

/**
 * Has a server listen at an address of this setting.
 * @throws SternaError `configuration` where it cannot
 */
export async function listen(server: Server, setting: string, { host, port }: HostPort): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject).listen({ host, port }, resolve)
  try {
    await promise
  } catch (error) {
    const message = `${setting}: cannot listen on ${host} port ${port}: ${messageOf(error)}`
    throw new SternaError('configuration', message, { cause: error })
  }
  server.off('error', reject)
}
