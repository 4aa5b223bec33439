import type { CoreParts } from './command/core-parts.ts'
import type { Config } from './config/settings.ts'
import { deliveryOptions } from './delivery/delivery-options.ts'
import { examination } from './doctor/examination.ts'
import { explainAddress, type ExplainParts } from './doctor/explain-address.ts'
import { ownAddresses } from './doctor/own-addresses.ts'
import { EventFeed } from './event/event-feed.ts'
import { ReportList } from './feedback/report-list.ts'
import type { EmailParts } from './http/api/emails.ts'
import { apiOperations } from './http/api/operations.ts'
import type { UnsubscribeParts } from './http/api/unsubscribe-operations.ts'
import { BodyRoom } from './http/body-room.ts'
import { compatDoors } from './http/compat/compat-doors.ts'
import { EventStreams } from './http/event-streams.ts'
import { startHttpServer } from './http/server.ts'
import { TrackingDoor } from './http/tracking-door.ts'
import { SessionEntry } from './http/session-entry.ts'
import { MessageReader } from './message/message-reader.ts'
import { minuteMs, RateLimiter } from './rate-limiter.ts'
import { WaitingMail } from './queue/waiting-mail.ts'
import { acceptBatch } from './submission/accept-batch.ts'
import { accept } from './submission/accept.ts'
import { resendFailed } from './submission/resend-failed.ts'
import type { Address } from './smtp/address.ts'
import { SuppressionEntries } from './suppression/suppression-entries.ts'
import { UnsubscribeLinks } from './suppression/unsubscribe-links.ts'
import { unsubscribeKeys } from './suppression/unsubscribe-token.ts'
import { trackingKeys } from './tracking/tracking-token.ts'
import type { Webhooks } from './webhook/open-webhooks.ts'
import type { DoorFrame, Inside } from './door-parts.ts'

function emailParts({ config, clock, log, db, accounts }: CoreParts, inside: Inside, { composer, messageParser }: DoorFrame): EmailParts {
  const { door } = inside
  return {
    clock,
    log,
    composer,
    messageParser,
    baseUrl: config.baseUrl,
    bodyRoom: new BodyRoom(),
    messages: new MessageReader(db),
    waitingMail: new WaitingMail({
      db,
      clock,
      noteWaiting: (destination, dueAt) => inside.queue.noteWaiting(destination, dueAt),
      eventsWritten: () => inside.eventsWritten(),
    }),
    isSuspended: (accountId) => accounts.isSuspended(accountId),
    accept: (submission) => accept(submission, door),
    acceptBatch: (batch) => acceptBatch(batch, door),
    resend: (messageId, by) => resendFailed(messageId, by, { db, clock, accept: (submission) => accept(submission, door) }),
  }
}

/** Opens the port of the API, its compatibility doors, tracking links and the pages for people. */
export async function openHttp(core: CoreParts, inside: Inside, frame: DoorFrame) {
  const { follower, door, shares, version } = inside
  const { config, clock, log, metrics, db, apiKeys, audit, people } = core
  const emails = emailParts(core, inside, frame)
  const eventFeed = new EventFeed(db)
  const eventStreams = new EventStreams({ feed: eventFeed, follower, clock })
  const server = await startHttpServer({
    clock,
    log,
    metrics,
    version,
    apiKeys,
    audit,
    sessions: people.sessions,
    trustedProxies: config.trustedProxies,
    rateLimit: frame.rateLimit,
    failedAuthentications: new RateLimiter(clock, { limit: config.http.failedAuthenticationsPerMinute, windowMs: minuteMs }),
    baseUrl: config.baseUrl,
    maxConnections: shares.http,
    listen: config.http.listen,
    tlsListen: config.http.tlsListen,
    tls: frame.tls,
    trackingDoor: new TrackingDoor({
      keys: trackingKeys(core.secrets.deriveKey),
      trustedProxies: config.trustedProxies,
      now: () => clock.now(),
      hits: inside.hits,
      appLinksAt: (host) => core.sendingDomains.appLinksAt(host),
    }),
    health: core.health,
    docs: config.http.docs,
    operations: apiOperations({
      ...apiParts(core, inside),
      ...emails,
      refusedLogins: frame.refusedLogins,
      templates: frame.templates,
      eventFeed,
      eventStreams,
    }),
    doors: config.compat.enabled ? compatDoors({ ...emails, ...mimeFrame(config), verifiedDomainFor: door.verifiedDomainFor }) : [],
  })
  return {
    ...server,
    stop(graceMs: number) {
      // They would go on for ever.
      eventStreams.stop()
      return server.stop(graceMs)
    },
  }
}

/** What a message gets and may have that comes over HTTP as it is. */
const mimeFrame = ({ hostname, messageSizeLimit, submission }: Config) => ({
  hostname,
  messageSizeLimit,
  traceClients: submission.traceClients,
})

/** What the endpoints work on, but for mail, templates and the feed of events. */
function apiParts(core: CoreParts, inside: Inside) {
  const { config, clock, db, metricsPage, suppressionPolicies } = core
  const { queue, queueAdmin, erasures, reports, rollup, webhooks, version } = inside
  return {
    ...peopleParts(core, webhooks),
    ...unsubscribeParts(core, inside),
    config,
    clock,
    db,
    queue,
    queueAdmin,
    erasures,
    reports,
    rollup,
    metricsPage,
    version,
    suppressionPolicies,
    webhooks,
    examineServer: () => examination(core),
    ownAddresses: () => ownAddresses(core),
    explain: (address: Address) => explainAddress(address, explainParts(core, inside)),
    reportList: new ReportList(db),
    suppressions: new SuppressionEntries(core),
  }
}

/** Mail programs send the clicks of many from a few addresses. */
const unsubscribesPerMinute = 300

const unsubscribeParts = ({ db, clock, secrets, erasedAddress }: CoreParts, { eventsWritten }: Inside): UnsubscribeParts => ({
  unsubscribeLinks: new UnsubscribeLinks({ db, clock, eventsWritten, erasedAddress, keys: unsubscribeKeys(secrets.deriveKey) }),
  unsubscribeLimit: new RateLimiter(clock, { limit: unsubscribesPerMinute, windowMs: minuteMs }),
})

/** Routes as delivery finds them. */
function explainParts({ db, clock, config, resolver, erasedAddress }: CoreParts, { queueAdmin }: Inside): ExplainParts {
  const { hostname, port, smarthost, ...guard } = deliveryOptions(config)
  return {
    db,
    clock,
    queueAdmin,
    erasedAddress,
    route: { resolver, guard, ownNames: [hostname.toLowerCase()], port, smarthost, random: Math.random },
  }
}

/** What the endpoints for accounts, keys and users work on. */
function peopleParts(core: CoreParts, webhooks: Webhooks) {
  const { config, log, accounts, apiKeys, audit, people, sendingDomains } = core
  const { baseUrl } = config
  return {
    ...people,
    log,
    accounts,
    apiKeys,
    audit,
    baseUrl,
    people,
    sendingDomains,
    plans: { byName: config.plans, standard: config.accounts.defaultPlan },
    removal: { ...core, webhooks: webhooks.list },
    entry: new SessionEntry({ baseUrl, sessions: people.sessions, audit }),
  }
}
