import type { AddressInfo } from 'node:net'
import type { RefusedLogins } from '../../senders/account/refused-logins.ts'
import { connectionFigures } from '../../platform/connection/connection-figures.ts'
import { startReturnPathServer } from '../../mail-back/feedback/return-path-server.ts'
import { startMetricsListener, type MetricsListener } from '../../api/http/metrics-listener.ts'
import type { Previews } from '../../api/resource/previews.ts'
import type { SmtpServer } from '../../mail-in/smtp-server/open-smtp-ports.ts'
import { startSubmissionServer } from '../../mail-in/submission/submission-server.ts'
import type { TlsFiles } from '../../platform/certificate/server-certificates.ts'
import { startTools, type ListenerTools } from './listener-tools.ts'
import { openApi, openHttp, type OpenedApi } from './http-listener.ts'
import type { Services } from './services.ts'
import type { Stop } from './stop.ts'

/** ms that requests under way get when the relay stops */
const graceMs = 3_000

/** Where the relay listens. */
export interface ListenAddresses {
  http: AddressInfo[]
  submission: AddressInfo[]
  returnPath: AddressInfo[]
  metrics: AddressInfo[]
}

export interface Listeners {
  addresses: ListenAddresses
  operations: OpenedApi['operations']
  previews: Previews
  refusedLogins: RefusedLogins
}

/** Opens SMTP submission, the return path and HTTP. */
export async function openListeners(services: Services, stops: Stop[]): Promise<Listeners> {
  const { core, certificates } = services
  const tools = await startTools(core, stops)
  const { previews, refusedLogins } = tools
  const listeners: { useCertificate(tls: TlsFiles): void; stop(graceMs: number): Promise<void> }[] = []
  stops.push(() => Promise.all(listeners.map((listener) => listener.stop(graceMs))))
  const submission = await openSubmission(services, tools)
  listeners.push(submission)
  const returnPath = await openReturnPath(services)
  listeners.push(returnPath)
  const api = openApi(services, tools, stops)
  const http = await openHttp(services, tools, api)
  listeners.push(http)
  core.metricsPage.add(connectionFigures(core.metrics, { http, submission, return_path: returnPath }))
  const metrics = await openMetrics(services)
  stops.push(() => metrics.stop())
  certificates.users.push((tls) => listeners.forEach((listener) => listener.useCertificate(tls)))
  // Not before the ports are open: authorities connect to them.
  void certificates.acme?.retry()
  const addresses = { http: http.addresses, submission: submission.addresses, returnPath: returnPath.addresses, metrics: metrics.addresses }
  return { addresses, operations: api.operations, previews, refusedLogins }
}

const openMetrics = ({ core: { clock, config, log, metricsPage }, version }: Services): Promise<MetricsListener> =>
  startMetricsListener({
    clock,
    listen: config.metrics.listen,
    trustedProxies: config.trustedProxies,
    log,
    text: () => metricsPage.text(version),
  })

function openSubmission({ core, certificates, intake, space, shares }: Services, { refusedLogins }: ListenerTools): Promise<SmtpServer> {
  const { config, clock, log, metrics, apiKeys } = core
  return startSubmissionServer(
    { clock, log, metrics, tls: certificates.server.files, space, accept: intake.accept, apiKeys, refusedLogins },
    {
      hostname: config.hostname,
      maxMessageBytes: config.messageSizeLimit,
      maxConnections: shares.submission,
      trustedProxies: config.trustedProxies,
      ...config.submission,
    },
  )
}

function openReturnPath({ core, certificates, space, returnedMail, shares }: Services): Promise<SmtpServer> {
  const { config, clock, log, metrics, secrets, sendingDomains } = core
  const ownNames = new Set([config.hostname, config.returnPath.domain])
  const isOurs = (domain: string): boolean => ownNames.has(domain) || sendingDomains.isReturnPath(domain)
  const isVerified = (domain: string): boolean => ownNames.has(domain) || sendingDomains.isVerifiedReturnPath(domain)
  const services = {
    clock,
    log,
    metrics,
    tls: certificates.server.files,
    space,
    returnedMail,
    isOurs,
    isVerified,
    tokenKeys: secrets.generations.map((deriveKey) => deriveKey('verp')),
  }
  const { hostname, messageSizeLimit, trustedProxies } = config
  return startReturnPathServer(services, {
    hostname,
    messageSizeLimit,
    maxConnections: shares.returnPath,
    trustedProxies,
    ...config.returnPath,
  })
}
