import type { Config } from '../../platform/config/settings.ts'
import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import { type ServerRecord, serverRecords } from '../../senders/sending-domain/server-records.ts'
import { isFullName } from '../../platform/smtp/domain-name.ts'
import { realHost } from './doctor-host.ts'
import { addressesOf, sendingAddresses } from './examine-host-name.ts'

interface OwnServices {
  config: Config
  resolver: Pick<DnsResolver, 'a' | 'aaaa'>
}

/** The public addresses that this server's mail leaves from, as far as it can tell; none behind a smarthost. */
export async function ownAddresses({ config, resolver }: OwnServices): Promise<string[]> {
  if (config.delivery.smarthost) return []
  const published = isFullName(config.hostname) ? await addressesOf(config.hostname, resolver) : []
  return sendingAddresses(realHost.interfaceAddresses(), published).map(({ address }) => address)
}

/** The records to publish for this server. */
export async function ownRecords(services: OwnServices): Promise<ServerRecord[]> {
  const { hostname, returnPath } = services.config
  const names = { hostname, returnPathDomain: returnPath.domain, takesReports: returnPath.listen.length > 0 }
  return serverRecords(names, await ownAddresses(services))
}
