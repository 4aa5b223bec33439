import { EventFeed } from '../event/event-feed.ts'
import { apiOperations } from '../http/api/operations.ts'
import { compatDoors } from '../http/compat/compat-doors.ts'
import { EventStreams } from '../http/event-streams.ts'
import { startHttpServer, type HttpServer } from '../http/server.ts'
import { TrackingDoor } from '../http/tracking-door.ts'
import { minuteMs, RateLimiter } from '../rate-limiter.ts'
import { trackingKeys } from '../tracking/tracking-token.ts'
import { apiPartsOf } from './api-parts.ts'
import type { DoorTools } from './door-tools.ts'
import type { Services } from './services.ts'
import type { Stop } from './stop.ts'

/** Opens the port of the API, its compatibility doors, tracking links and the pages for people. */
export function openHttp(services: Services, tools: DoorTools, stops: Stop[]): Promise<HttpServer> {
  const { core, follower, shares, version } = services
  const { config, clock, log, metrics, health, db, apiKeys, audit, people, sendingDomains } = core
  const eventFeed = new EventFeed(db)
  const eventStreams = new EventStreams({ feed: eventFeed, follower, clock })
  // They would go on for ever.
  stops.push(() => eventStreams.stop())
  const parts = apiPartsOf(services, tools, { eventFeed, eventStreams })
  const { hostname, messageSizeLimit, submission, baseUrl, trustedProxies } = config
  const verifiedDomainFor = (accountId: string, name: string) => sendingDomains.verifiedDomainFor(accountId, name)
  return startHttpServer({
    clock,
    log,
    metrics,
    health,
    version,
    apiKeys,
    audit,
    trustedProxies,
    baseUrl,
    sessions: people.sessions,
    rateLimit: tools.rateLimit,
    failedAuthentications: new RateLimiter(clock, { limit: config.http.failedAuthenticationsPerMinute, windowMs: minuteMs }),
    maxConnections: shares.http,
    listen: config.http.listen,
    tlsListen: config.http.tlsListen,
    tls: tools.tls,
    trackingDoor: trackingDoorOf(services),
    docs: config.http.docs,
    operations: apiOperations(parts),
    doors: config.compat.enabled
      ? compatDoors({ hostname, messageSizeLimit, traceClients: submission.traceClients, verifiedDomainFor, ...parts })
      : [],
  })
}

const trackingDoorOf = ({ core: { clock, config, secrets, sendingDomains }, hits }: Services): TrackingDoor =>
  new TrackingDoor({
    keys: trackingKeys(secrets.deriveKey),
    trustedProxies: config.trustedProxies,
    now: () => clock.now(),
    hits,
    appLinksAt: (host) => sendingDomains.appLinksAt(host),
  })
