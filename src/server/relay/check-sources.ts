import type { SourceAddress } from '../../platform/config/source-address.ts'
import { isLocalAddress } from '../../platform/connection/is-local-address.ts'
import { SternaError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'

/**
 * Says which source addresses this machine lacks. Mail leaves from the others.
 * @throws SternaError `configuration` if it has none of them
 */
export async function checkSources(sources: readonly SourceAddress[], log: Pick<Log, 'error'>): Promise<void> {
  const found = await Promise.all(sources.map(async ({ address }) => ({ address, isLocal: await isLocalAddress(address) })))
  const missing = found.flatMap(({ address, isLocal }) => (isLocal ? [] : [address]))
  if (missing.length === 0) return
  const reason =
    `delivery.source_addresses: this machine does not have ${missing.join(', ')}. ` +
    'Add the address to an interface, or remove it from the setting.'
  if (missing.length === sources.length) throw new SternaError('configuration', reason)
  log.error({ addresses: missing }, reason)
}
