import type { Config } from '../config/settings.ts'
import type { DnsResolver } from '../dns/dns-resolver.ts'
import { isFullName } from '../smtp/domain-name.ts'
import { realHost } from './doctor-host.ts'
import { addressesOf, sendingAddresses } from './examine-host-name.ts'

/** The public addresses that this server's mail leaves from, as far as it can tell; none behind a smarthost. */
export async function ownAddresses({ config, resolver }: { config: Config; resolver: Pick<DnsResolver, 'a' | 'aaaa'> }): Promise<string[]> {
  if (config.delivery.smarthost) return []
  const local = sendingAddresses(realHost.interfaceAddresses(), [])
  if (local.areOwn || !isFullName(config.hostname)) return local.addresses
  return sendingAddresses([], await addressesOf(config.hostname, resolver)).addresses
}
