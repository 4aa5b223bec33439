import type { Config } from '../../platform/config/settings.ts'
import { apiOperations } from '../../api/resource/operations.ts'
import type { ApiServices } from '../../api/resource/operation-services.ts'
import { BodyBudget } from '../../api/http/body-budget.ts'
import { compatApis } from '../../api/http/compat/compat-apis.ts'
import { Dashboard } from '../../api/http/dashboard.ts'
import { EventStreams } from '../../api/resource/event-streams.ts'
import type { Operation } from '../../api/operation/operation.ts'
import { startHttpServer, type HttpServer } from '../../api/http/server.ts'
import { TrackingResponder } from '../../api/http/tracking-responder.ts'
import { derivedFrom } from '../../platform/key-generations.ts'
import { trackingKeys } from '../../readers/tracking/tracking-token.ts'
import { SuppressionEntries } from '../../mail/suppression/suppression-entries.ts'
import { apiServicesOf } from './api-services.ts'
import type { ListenerTools } from './listener-tools.ts'
import type { Services } from './services.ts'
import type { Stop } from './stop.ts'

/** The operations of the API, for HTTP and for commands. */
interface OpenedApi {
  api: ApiServices
  operations: Operation[]
}

export function openApi(services: Services, tools: ListenerTools, stops: Stop[]): OpenedApi {
  const eventStreams = new EventStreams(services)
  // Event streams would never end by themselves.
  stops.push(() => eventStreams.stop())
  const api = apiServicesOf(services, { ...tools, eventStreams })
  return { api, operations: apiOperations(api) }
}

/** Opens the port for the API, the compat APIs, tracking links and pages. */
export function openHttp(services: Services, tools: ListenerTools, { api, operations }: OpenedApi): Promise<HttpServer> {
  const { config, certificates, people, shares, loadDashboard } = services
  const bodyRoom = new BodyBudget()
  // The clients of other services expect addresses.
  const suppressions = new SuppressionEntries(services, { addressesOnly: true })
  const { http, hostname, messageSizeLimit, submission, baseUrl, trustedProxies, webhooks } = config
  return startHttpServer({
    ...services,
    ...tools,
    ...http,
    baseUrl,
    trustedProxies,
    webhooks,
    bodyRoom,
    sessions: people.sessions,
    maxConnections: shares.http,
    tls: certificates.server.files,
    hasCertificate: isHttpsOnly(config) ? (name) => certificates.server.covers(name) : null,
    challenges: certificates.acme?.answers ?? null,
    trackingResponder: trackingResponderOf(services),
    dashboard: config.dashboard.enabled ? new Dashboard({ ...services, baseUrl, load: loadDashboard }) : null,
    operations,
    compatApis: config.compat.enabled
      ? compatApis({ ...services, ...api, suppressions, hostname, messageSizeLimit, traceClients: submission.traceClients, bodyRoom })
      : [],
  })
}

const isHttpsOnly = ({ http, baseUrl }: Config): boolean =>
  http.redirectToHttps && http.tlsListen.length > 0 && baseUrl.startsWith('https:')

const trackingResponderOf = (services: Services): TrackingResponder =>
  new TrackingResponder({
    ...services,
    keys: derivedFrom(services.secrets, trackingKeys),
    trustedProxies: services.config.trustedProxies,
    now: () => services.clock.now(),
    appLinksAt: (host) => services.sendingDomains.appLinksAt(host),
  })
