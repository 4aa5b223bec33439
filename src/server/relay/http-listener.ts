import type { Config } from '../../platform/config/settings.ts'
import { apiOperations } from '../../api/resource/operations.ts'
import type { ApiServices } from '../../api/resource/operation-services.ts'
import { BodyBudget } from '../../api/http/body-budget.ts'
import { compatApis } from '../../api/http/compat/compat-apis.ts'
import { Dashboard } from '../../api/http/dashboard.ts'
import { loadDashboard } from '../../api/http/dashboard-bundle.ts'
import { EventStreams } from '../../api/resource/event-streams.ts'
import type { Operation } from '../../api/operation/operation.ts'
import { startHttpServer, type HttpServer } from '../../api/http/server.ts'
import { TrackingResponder } from '../../api/http/tracking-responder.ts'
import { minuteMs, RateLimiter } from '../../platform/rate-limiter.ts'
import { trackingKeys } from '../../readers/tracking/tracking-token.ts'
import { apiServicesOf } from './api-services.ts'
import type { ListenerTools } from './listener-tools.ts'
import type { Services } from './services.ts'
import type { Stop } from './stop.ts'

/** The operations of the API, for HTTP and for commands. */
export interface OpenedApi {
  api: ApiServices
  operations: Operation[]
}

export function openApi(services: Services, tools: ListenerTools, stops: Stop[]): OpenedApi {
  const eventStreams = new EventStreams({ follower: services.follower, clock: services.core.clock })
  // Event streams would never end by themselves.
  stops.push(() => eventStreams.stop())
  const api = apiServicesOf(services, tools, eventStreams)
  return { api, operations: apiOperations(api) }
}

/** Opens the port for the API, the compat APIs, tracking links and pages. */
export function openHttp(services: Services, tools: ListenerTools, { api, operations }: OpenedApi): Promise<HttpServer> {
  const { core, shares, version } = services
  const { config, clock, log, metrics, health, apiKeys, audit, people, sendingDomains } = core
  const bodyRoom = new BodyBudget()
  const { hostname, messageSizeLimit, submission, baseUrl, trustedProxies } = config
  const verifiedDomainFor = (accountId: string, name: string) => sendingDomains.verifiedDomainFor(accountId, name)
  return startHttpServer({
    clock,
    log,
    metrics,
    health,
    version,
    webhooks: config.webhooks,
    apiKeys,
    audit,
    idempotencyKeys: core.idempotencyKeys,
    bodyRoom,
    largeWorker: core.largeWorker,
    trustedProxies,
    baseUrl,
    sessions: people.sessions,
    rateLimit: tools.rateLimit,
    failedAuthentications: new RateLimiter(clock, { limit: config.http.failedAuthenticationsPerMinute, windowMs: minuteMs }),
    maxConnections: shares.http,
    listen: config.http.listen,
    tlsListen: config.http.tlsListen,
    tls: services.certificates.server.files,
    hasCertificate: isHttpsOnly(config) ? (name) => services.certificates.server.covers(name) : null,
    challenges: services.certificates.acme?.answers ?? null,
    trackingResponder: trackingResponderOf(services),
    docs: config.http.docs,
    dashboard: config.dashboard.enabled ? new Dashboard({ baseUrl, log, load: loadDashboard }) : null,
    operations,
    compatApis: config.compat.enabled
      ? compatApis({ hostname, messageSizeLimit, traceClients: submission.traceClients, verifiedDomainFor, bodyRoom, ...api })
      : [],
  })
}

const isHttpsOnly = ({ http, baseUrl }: Config): boolean =>
  http.redirectToHttps && http.tlsListen.length > 0 && baseUrl.startsWith('https:')

const trackingResponderOf = ({ core: { clock, config, secrets, sendingDomains }, hits }: Services): TrackingResponder =>
  new TrackingResponder({
    keys: secrets.generations.map(trackingKeys),
    trustedProxies: config.trustedProxies,
    now: () => clock.now(),
    hits,
    appLinksAt: (host) => sendingDomains.appLinksAt(host),
  })
