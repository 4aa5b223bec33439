import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { RefusedLogins } from './account/refused-logins.ts'
import type { Rollup } from './analytics/rollup.ts'
import type { CoreParts } from './command/core-parts.ts'
import type { Config } from './config/settings.ts'
import { connectionFigures } from './connection/connection-figures.ts'
import type { ConnectionShares } from './connection/open-files.ts'
import { deliveryOptions } from './delivery/delivery-options.ts'
import { examination } from './doctor/examination.ts'
import { explainAddress } from './doctor/explain-address.ts'
import type { ExplainParts } from './doctor/explain-address.ts'
import { ownAddresses } from './doctor/own-addresses.ts'
import type { Erasures } from './erasure/erasures.ts'
import { EventFeed } from './event/event-feed.ts'
import type { EventFollower } from './event/event-follower.ts'
import type { IncomingReports } from './feedback/incoming-reports.ts'
import { ReportList } from './feedback/report-list.ts'
import { startReturnPathServer } from './feedback/return-path-server.ts'
import { EmailComposer } from './http/api/email-composer.ts'
import type { EmailParts } from './http/api/emails.ts'
import { apiOperations } from './http/api/operations.ts'
import type { UnsubscribeParts } from './http/api/unsubscribe-operations.ts'
import { BodyRoom } from './http/body-room.ts'
import { compatDoors } from './http/compat/compat-doors.ts'
import { EventStreams } from './http/event-streams.ts'
import { startMetricsListener } from './http/metrics-listener.ts'
import type { MetricsListener } from './http/metrics-listener.ts'
import { RateLimitFailures } from './http/rate-limit-failures.ts'
import { RateLimitNetworks } from './http/rate-limit-networks.ts'
import { RateLimit } from './http/rate-limit.ts'
import { startHttpServer } from './http/server.ts'
import { TrackingDoor } from './http/tracking-door.ts'
import { SessionEntry } from './http/session-entry.ts'
import { startMessageParser } from './message/message-parser.ts'
import type { MessageParser } from './message/message-parser.ts'
import { MessageReader } from './message/message-reader.ts'
import type { HitRecorder } from './engagement/hit-recorder.ts'
import type { QueueAdmin } from './queue/queue-admin.ts'
import type { QueueRunner } from './queue/queue-runner.ts'
import { WaitingMail } from './queue/waiting-mail.ts'
import { acceptBatch } from './submission/accept-batch.ts'
import { accept } from './submission/accept.ts'
import type { AcceptParts } from './submission/accept.ts'
import type { FreeSpace } from './submission/free-space.ts'
import { resendFailed } from './submission/resend-failed.ts'
import type { Address } from './smtp/address.ts'
import { CertificateRenewal } from './smtp-server/certificate-renewal.ts'
import { loadOrMakeCertificate } from './smtp-server/self-signed-certificate.ts'
import type { Certificate } from './smtp-server/self-signed-certificate.ts'
import { startSubmissionServer } from './submission/submission-server.ts'
import { SuppressionEntries } from './suppression/suppression-entries.ts'
import { UnsubscribeLinks } from './suppression/unsubscribe-links.ts'
import { unsubscribeKeys } from './suppression/unsubscribe-token.ts'
import type { CertifiedNames } from './tracking/certified-names.ts'
import { trackingKeys } from './tracking/tracking-token.ts'
import type { TemplateList } from './template/template-list.ts'
import type { Webhooks } from './webhook/open-webhooks.ts'

/** How long requests that are under way may take when the relay stops, ms. */
const graceMs = 3_000

/** Where the relay listens. */
export interface DoorAddresses {
  http: AddressInfo[]
  submission: AddressInfo[]
  returnPath: AddressInfo[]
  metrics: AddressInfo[]
}

interface Doors {
  addresses: DoorAddresses
  certificate: CertificateRenewal
  refusedLogins: RefusedLogins
}

/** What ends a part that was started; the part started last ends first. */
export type Stop = () => Promise<unknown> | void

/** What stands behind the doors. */
export interface Inside {
  webhooks: Webhooks
  follower: EventFollower
  eventsWritten(): void
  queue: QueueRunner
  queueAdmin: QueueAdmin
  erasures: Erasures
  rollup: Rollup
  space: FreeSpace
  /** Through which every message gets in. */
  door: AcceptParts
  hits: HitRecorder
  /** Of the names that browsers find a valid certificate for. */
  certified: CertifiedNames
  /** What comes back by mail. */
  reports: IncomingReports
  shares: ConnectionShares
  version: string
}

/** Opens SMTP submission, the return path and HTTP, with all that they need and nobody else does. */
export async function openDoors(core: CoreParts, inside: Inside, stops: Stop[]): Promise<Doors> {
  const { clock, config, log } = core
  const messageParser = startMessageParser()
  stops.push(() => messageParser.stop())
  const { templates } = core
  const { messageSizeLimit, baseUrl } = config
  const unsubscribe = { keys: unsubscribeKeys(core.secrets.deriveKey), baseUrl }
  const composer = new EmailComposer({ clock, templates: templates.live, messageSizeLimit, unsubscribe })
  stops.push(() => composer.stop())

  const rateLimit = new RateLimit(core, { plans: config.plans, defaultPlan: config.accounts.defaultPlan })
  await rateLimit.start()
  stops.push(() => rateLimit.stop())

  const tls = await certificateFor(core)
  if (tls.origin === 'made') {
    log.warn({ fingerprint: tls.fingerprint }, 'made a self-signed certificate: set tls.cert and tls.key to one that clients trust')
  }
  const refusedLogins = new RefusedLogins(log)
  stops.push(() => refusedLogins.tell())
  const frame: DoorFrame = { templates, messageParser, composer, rateLimit, refusedLogins, tls }
  const doors: { useCertificate(tls: Certificate): void; stop(graceMs: number): Promise<void> }[] = []
  stops.push(() => Promise.all(doors.map((door) => door.stop(graceMs))))
  const submission = await openSubmission(core, inside, frame)
  doors.push(submission)
  const returnPath = await openReturnPath(core, inside, frame)
  doors.push(returnPath)
  const http = await openHttp(core, inside, frame)
  doors.push(http)
  inside.certified.use(tls)
  core.metricsPage.add(connectionFigures(core.metrics, { http, submission, return_path: returnPath }))
  const metrics = await openMetrics(core, inside, stops)
  const certificate = new CertificateRenewal(tls, {
    load: () => certificateFor(core),
    use(renewed) {
      for (const door of doors) door.useCertificate(renewed)
      inside.certified.use(renewed)
    },
    log,
  })
  const addresses = { http: http.addresses, submission: submission.addresses, returnPath: returnPath.addresses, metrics: metrics.addresses }
  return { addresses, certificate, refusedLogins }
}

async function openMetrics({ config, log, metricsPage }: CoreParts, { version }: Inside, stops: Stop[]): Promise<MetricsListener> {
  const listener = await startMetricsListener({
    listen: config.metrics.listen,
    trustedProxies: config.trustedProxies,
    log,
    text: () => metricsPage.text(version),
  })
  stops.push(() => listener.stop())
  return listener
}

/** What the doors are opened with. */
interface DoorFrame {
  messageParser: MessageParser
  templates: TemplateList
  composer: EmailComposer
  rateLimit: RateLimit
  refusedLogins: RefusedLogins
  tls: Certificate
}

const certificateFor = ({ config, clock }: CoreParts): Promise<Certificate> =>
  loadOrMakeCertificate({
    certFile: config.tls.cert,
    keyFile: config.tls.key,
    directory: join(config.dataDir, 'tls'),
    hostname: config.hostname,
    now: clock.now(),
  })

const openSubmission = (
  { config, clock, log, metrics, apiKeys }: CoreParts,
  { door, space, shares }: Inside,
  { tls, refusedLogins }: DoorFrame,
) =>
  startSubmissionServer(
    {
      clock,
      log,
      metrics,
      tls,
      space,
      accept: (arrive) => accept(arrive, door),
      apiKeys,
      refusedLogins,
    },
    {
      hostname: config.hostname,
      maxMessageBytes: config.messageSizeLimit,
      maxConnections: shares.submission,
      trustedProxies: config.trustedProxies,
      ...config.submission,
    },
  )

function openReturnPath(
  { config, clock, log, metrics, secrets, sendingDomains }: CoreParts,
  { space, reports, shares }: Inside,
  { tls }: DoorFrame,
) {
  const ownNames = new Set([config.hostname, config.returnPath.domain])
  const isOurs = (domain: string): boolean => ownNames.has(domain) || sendingDomains.isReturnPath(domain)
  const parts = { clock, log, metrics, tls, space, reports, isOurs, tokenKey: secrets.deriveKey('verp') }
  const { hostname, trustedProxies } = config
  return startReturnPathServer(parts, { hostname, maxConnections: shares.returnPath, trustedProxies, ...config.returnPath })
}

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

async function openHttp(core: CoreParts, inside: Inside, frame: DoorFrame) {
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
    rateLimitFailures: new RateLimitFailures(clock, config.http.failedAuthenticationsPerMinute),
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
  unsubscribeLimit: new RateLimitNetworks(clock, unsubscribesPerMinute),
})

/** Routes as delivery finds them. */
function explainParts({ db, clock, config, resolver, erasedAddress }: CoreParts, { queueAdmin }: Inside): ExplainParts {
  const { hostname, port, smarthost, ...guard } = deliveryOptions(config)
  return { db, clock, queueAdmin, erasedAddress, route: { resolver, guard, ownNames: [hostname.toLowerCase()], port, smarthost, random: Math.random } }
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

