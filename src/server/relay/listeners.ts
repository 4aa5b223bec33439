import type { AddressInfo } from 'node:net'
import { MemoryPool } from '../../platform/memory-pool.ts'
import { connectionFigures } from '../../platform/connection/connection-figures.ts'
import { startReturnPathServer } from '../../mail-back/feedback/return-path-server.ts'
import { startMetricsListener, type MetricsListener } from '../../api/http/metrics-listener.ts'
import type { SmtpServer } from '../../mail-in/smtp-server/open-smtp-ports.ts'
import { startSubmissionServer } from '../../mail-in/submission/submission-server.ts'
import type { TlsFiles } from '../../platform/certificate/server-certificates.ts'
import { derivedFrom } from '../../platform/key-generations.ts'
import { startTools, type ListenerTools } from './listener-tools.ts'
import { openApi, openHttp } from './http-listener.ts'
import type { Services } from './services.ts'
import { start, type Stop } from './stop.ts'

/** ms that requests under way get when the relay stops */
const graceMs = 3_000

/** Where the relay listens. */
export interface ListenAddresses {
  http: AddressInfo[]
  submission: AddressInfo[]
  returnPath: AddressInfo[]
  metrics: AddressInfo[]
}

/** Opens SMTP submission, the return path and HTTP. */
export async function openListeners(services: Services, stops: Stop[]) {
  const { certificates, metrics, metricsPage } = services
  const tools = await startTools(services, stops)
  const listeners: { useCertificate(tls: TlsFiles): void; stop(graceMs: number): Promise<void> }[] = []
  stops.push(() => Promise.all(listeners.map((listener) => listener.stop(graceMs))))
  const submission = await openSubmission({ ...services, ...tools })
  listeners.push(submission)
  const returnPath = await openReturnPath(services)
  listeners.push(returnPath)
  const api = openApi(services, tools, stops)
  const http = await openHttp(services, tools, api)
  listeners.push(http)
  metricsPage.add(connectionFigures(metrics, { http, submission, return_path: returnPath }))
  const scraped = await start(await openMetrics(services), stops)
  certificates.users.push((tls) => listeners.forEach((listener) => listener.useCertificate(tls)))
  // Not before the ports are open: authorities connect to them.
  const { acme } = certificates
  if (acme) stops.push(await services.nodes.duty('certificates', () => acme.begin()))
  const addresses = { http: http.addresses, submission: submission.addresses, returnPath: returnPath.addresses, metrics: scraped.addresses }
  return { ...tools, addresses, operations: api.operations }
}

const openMetrics = (services: Services): Promise<MetricsListener> =>
  startMetricsListener({
    ...services,
    listen: services.config.metrics.listen,
    trustedProxies: services.config.trustedProxies,
    text: () => services.metricsPage.text(services.version),
  })

function openSubmission(services: Services & ListenerTools): Promise<SmtpServer> {
  const { config, certificates, shares } = services
  const { hostname, messageSizeLimit: maxMessageBytes, trustedProxies, submission } = config
  return startSubmissionServer(
    { ...services, memory: new MemoryPool(), tls: certificates.server.files },
    { hostname, maxMessageBytes, trustedProxies, maxConnections: shares.submission, ...submission },
  )
}

function openReturnPath(services: Services): Promise<SmtpServer> {
  const { config, certificates, secrets, sendingDomains, shares } = services
  const { hostname, messageSizeLimit, trustedProxies, returnPath } = config
  const ownNames = new Set([hostname, returnPath.domain])
  return startReturnPathServer(
    {
      ...services,
      tls: certificates.server.files,
      isOurs: (domain) => ownNames.has(domain) || sendingDomains.isReturnPath(domain),
      isVerified: (domain) => ownNames.has(domain) || sendingDomains.isVerifiedReturnPath(domain),
      tokenKeys: derivedFrom(secrets, (deriveKey) => deriveKey('verp')),
    },
    { hostname, messageSizeLimit, trustedProxies, maxConnections: shares.returnPath, ...returnPath },
  )
}
