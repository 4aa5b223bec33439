import type { Clock } from '../../platform/clock.ts'
import type { Config } from '../../platform/config/settings.ts'
import type { DnsResolver } from '../../platform/dns/dns-resolver.ts'
import { newestTime } from '../../mail/event/newest-time.ts'
import type { Health } from '../../platform/health.ts'
import type { SendingDomains } from '../../senders/sending-domain/sending-domains.ts'
import type { Database } from '../../platform/store/database.ts'
import { realHost } from './doctor-host.ts'
import { judgeDatabase } from './examine-disk.ts'
import type { Finding } from './finding.ts'
import { runDoctor } from './run-doctor.ts'

/** Examines this server, all of its domains, and the machine it runs on. */
export async function examination(services: {
  config: Config
  clock: Clock
  resolver: DnsResolver
  health: Pick<Health, 'faults'>
  sendingDomains: SendingDomains
  db: Database
}): Promise<Finding[]> {
  const { config, clock, resolver, health, sendingDomains, db } = services
  const domains = sendingDomains.list().map((domain) => ({ domain, records: sendingDomains.records(domain) }))
  const findings = await runDoctor({ config, clock, resolver, health, domains, newestTime: await newestTime(db), host: realHost, db })
  return [...findings, judgeDatabase(await db.upkeep.needsRewriting())]
}
