import type { Clock } from '../../platform/clock.ts'
import type { Config } from '../../platform/config/settings.ts'
import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import type { Database } from '../../platform/store/database.ts'
import { listNodes } from '../../platform/store/node-rows.ts'
import { type ServerRecord, serverRecords } from '../../senders/sending-domain/server-records.ts'
import { realHost } from './doctor-host.ts'
import { namedAddresses } from './named-addresses.ts'

interface MachineServices {
  config: Config
  resolver: Pick<DnsResolver, 'a' | 'aaaa'>
}

interface OwnServices extends MachineServices {
  db: Pick<Database, 'read'>
  clock: Pick<Clock, 'now'>
}

/** The public addresses that the mail of all nodes leaves from, as far as they can tell; none behind a smarthost. */
export async function ownAddresses(services: OwnServices): Promise<string[]> {
  const [here, nodes] = await Promise.all([addressesOfMachine(services), listNodes(services)])
  return [...new Set([...here, ...nodes.flatMap(({ addresses }) => addresses)])]
}

/** Those of this machine. */
export async function addressesOfMachine({ config, resolver }: MachineServices): Promise<string[]> {
  if (config.delivery.smarthost) return []
  const { hostname, delivery } = config
  const named = await namedAddresses({ hostname, sources: delivery.sourceAddresses, resolver }, realHost.interfaceAddresses())
  return [...new Set(named.map(({ address }) => address))]
}

/** The records to publish for this server. */
export async function ownRecords(services: OwnServices): Promise<ServerRecord[]> {
  const { hostname, returnPath } = services.config
  const names = { hostname, returnPathDomain: returnPath.domain, takesReports: returnPath.listen.length > 0 }
  return serverRecords(names, await ownAddresses(services))
}
