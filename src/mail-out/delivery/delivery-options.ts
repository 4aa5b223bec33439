import { readFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import type { Config } from '../../platform/config/settings.ts'
import { sendsTlsReports } from '../../platform/config/sends-tls-reports.ts'
import type { DeliveryOptions } from './delivery-threads.ts'
import { smarthostOf } from './smarthost.ts'

/** The settings that delivery needs, and the machine's addresses that it must not connect to. */
export function deliveryOptions(config: Config): DeliveryOptions {
  const { delivery, http, submission, returnPath, metrics } = config
  return {
    hostname: config.hostname,
    dnsServers: config.dns.servers,
    dnssecProbe: config.dns.dnssecProbe,
    port: delivery.port,
    smarthost: smarthostOf(delivery),
    threads: delivery.threads,
    maxConnectionsPerHost: delivery.maxConnectionsPerHost,
    messagesPerConnection: delivery.messagesPerConnection,
    idleMs: delivery.idleConnection,
    sources: delivery.sourceAddresses,
    mtaSts: delivery.mtaSts,
    countsSessions: sendsTlsReports(config),
    allowPrivateAddresses: delivery.allowPrivateAddresses,
    ownListeners: [
      ...http.listen,
      ...http.tlsListen,
      ...submission.listen,
      ...submission.tlsListen,
      ...returnPath.listen,
      ...metrics.listen,
    ],
    extraAuthorities: delivery.smarthostCa === null ? [] : [readFileSync(delivery.smarthostCa, 'utf8')],
    interfaceAddresses: interfaceAddresses(),
  }
}

/** Of this machine. */
export const interfaceAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((entries) => (entries ?? []).map(({ address }) => address))
