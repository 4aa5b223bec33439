import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { Rollup } from './analytics/rollup.ts'
import type { CommandParts } from './command/command-parts.ts'
import { openCoreParts } from './command/core-parts.ts'
import type { CoreParts, Outside } from './command/core-parts.ts'
import type { Config } from './config/settings.ts'
import { startDelivery } from './delivery/delivery-threads.ts'
import type { Delivery } from './delivery/delivery-threads.ts'
import { EventFeed } from './event/event-feed.ts'
import { EventFollower } from './event/event-follower.ts'
import { examination } from './doctor/examination.ts'
import { explainAddress } from './doctor/explain-address.ts'
import type { ExplainParts } from './doctor/explain-address.ts'
import { EmailComposer } from './http/api/email-composer.ts'
import type { EmailParts } from './http/api/emails.ts'
import { apiOperations } from './http/api/operations.ts'
import { RateLimitFailures } from './http/rate-limit-failures.ts'
import { RateLimit } from './http/rate-limit.ts'
import { EventStreams } from './http/event-streams.ts'
import { BodyRoom } from './http/body-room.ts'
import { compatDoors } from './http/compat/compat-doors.ts'
import { SessionEntry } from './http/session-entry.ts'
import { startHttpServer } from './http/server.ts'
import { startMessageParser } from './message/message-parser.ts'
import type { MessageParser } from './message/message-parser.ts'
import { MessageReader } from './message/message-reader.ts'
import { dropEveryUpload, dropUpload, storeAhead } from './message/message-store.ts'
import { sweep } from './message/retention.ts'
import type { JobFrame } from './queue/dispatch.ts'
import { QueueAdmin } from './queue/queue-admin.ts'
import { QueueRunner } from './queue/queue-runner.ts'
import type { QueuedMessage } from './queue/queue-store.ts'
import { WaitingMail } from './queue/waiting-mail.ts'
import { startScheduler } from './scheduler.ts'
import { encodeVerp } from './smtp/verp.ts'
import { acceptBatch } from './submission/accept-batch.ts'
import { accept } from './submission/accept.ts'
import type { AcceptParts } from './submission/accept.ts'
import { FreeSpace } from './submission/free-space.ts'
import { IdempotencyKeys } from './submission/idempotency-keys.ts'
import { resendFailed } from './submission/resend-failed.ts'
import { loadOrMakeCertificate } from './submission/self-signed-certificate.ts'
import { startSubmissionServer } from './submission/submission-server.ts'
import { SuppressionEntries } from './suppression/suppression-entries.ts'
import { TemplateList } from './template/template-list.ts'
import { openWebhooks } from './webhook/open-webhooks.ts'
import type { Webhooks } from './webhook/open-webhooks.ts'

/**
 * How long what is under way may take when the relay stops, ms, one after the other: requests at the doors, attempts,
 * posts to webhooks (which are repeated after the next start). A container has ten seconds.
 */
const grace = { doors: 3_000, delivery: 4_000, webhooks: 1_000 }

/** A running relay. */
export interface Relay {
  parts: CommandParts
  addresses: { http: AddressInfo[]; submission: AddressInfo[] }
  /** Takes no more, lets what is under way end within seconds, and leaves the rest to the next start. */
  stop(): Promise<void>
}

/**
 * Builds every part in the order in which a message travels, and starts them from its end, so that nothing is accepted
 * before it can be delivered and told of.
 * @throws SternaError `configuration` where a setting does not work out on this machine
 */
export async function startRelay(config: Config, outside: Outside & { version: string }): Promise<Relay> {
  const core = await openCoreParts(config, outside)
  const { db, clock } = core
  const stops: Stop[] = [() => core.close()]
  const stop = async (): Promise<void> => {
    for (const stopPart of stops.splice(0).reverse()) await stopPart()
  }
  try {
    await db.write(dropEveryUpload)
    const webhooks = await startWebhooks(core, stops)
    const readers: EventReaders = { webhooks, follower: new EventFollower(core) }
    const queue = await startQueue(core, readers, stops)
    const rollup = new Rollup(core)
    const noteWaiting = (destination: string, dueAt: number): void => queue.noteWaiting(destination, dueAt)
    const queueAdmin = new QueueAdmin({ db, clock, noteWaiting, eventsWritten: () => tellOfEvents(readers) })
    const addresses = await openDoors(core, { queue, queueAdmin, rollup, ...readers, version: outside.version }, stops)
    startJobs(core, rollup, stops)
    return { parts: { ...core, webhooks: webhooks.list, queueAdmin }, addresses, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** What ends a part that was started; the part started last ends first. */
type Stop = () => Promise<unknown> | void

async function startWebhooks(core: CoreParts, stops: Stop[]): Promise<Webhooks> {
  const settings = core.config.webhooks
  const webhooks = await openWebhooks(core, { ...settings, timeoutMs: settings.timeout, disableAfterMs: disableWebhooksAfterMs })
  await webhooks.start()
  stops.push(() => webhooks.stop(grace.webhooks))
  return webhooks
}

async function startQueue(core: CoreParts, readers: EventReaders, stops: Stop[]): Promise<QueueRunner> {
  const delivery = startDelivery(deliverySettings(core.config), core.log)
  const queue = newQueue(core, delivery, readers)
  await queue.start()
  stops.push(() => Promise.all([delivery.stop(grace.delivery), queue.stop(grace.delivery)]))
  return queue
}

/** Those who follow the event log; what writes to it knows none of them. */
interface EventReaders {
  webhooks: Webhooks
  follower: EventFollower
}

function tellOfEvents({ webhooks, follower }: EventReaders): void {
  webhooks.eventsWritten()
  follower.eventsWritten()
}

/** What stands behind the doors. */
interface Inside extends EventReaders {
  queue: QueueRunner
  queueAdmin: QueueAdmin
  rollup: Rollup
  version: string
}

async function openDoors(core: CoreParts, inside: Inside, stops: Stop[]): Promise<Relay['addresses']> {
  const { clock, config } = core
  const space = new FreeSpace(config.dataDir, config.storage.reserve)
  await space.start()
  stops.push(() => space.stop())
  const messageParser = startMessageParser()
  stops.push(() => messageParser.stop())
  const templates = new TemplateList(core)
  const composer = new EmailComposer({ clock, templates: templates.live, hostname: config.hostname, messageSizeLimit: config.messageSizeLimit })
  stops.push(() => composer.stop())

  const rateLimit = new RateLimit(core, { plans: config.plans, defaultPlan: config.accounts.defaultPlan })
  await rateLimit.start()
  stops.push(() => rateLimit.stop())

  const frame: DoorFrame = { space, templates, messageParser, composer, rateLimit, tls: await certificateFor(core), door: doorOf(core, inside, space) }
  const doors: { stop(graceMs: number): Promise<void> }[] = []
  stops.push(() => Promise.all(doors.map((door) => door.stop(grace.doors))))
  const submission = await openSubmission(core, frame)
  doors.push(submission)
  const http = await openHttp(core, inside, frame)
  doors.push(http)
  return { http: http.addresses, submission: submission.addresses }
}

/** What the doors are opened with. */
interface DoorFrame {
  space: FreeSpace
  messageParser: MessageParser
  templates: TemplateList
  composer: EmailComposer
  rateLimit: RateLimit
  tls: { cert: string; key: string }
  /** Through which every message gets in. */
  door: AcceptParts
}

async function certificateFor({ config, clock, log }: CoreParts): Promise<DoorFrame['tls']> {
  const certificate = await loadOrMakeCertificate({
    certFile: config.tls.cert,
    keyFile: config.tls.key,
    directory: join(config.dataDir, 'tls'),
    hostname: config.hostname,
    now: clock.now(),
  })
  if (certificate.origin === 'made') {
    const { fingerprint } = certificate
    log.warn({ fingerprint }, 'made a self-signed certificate: set tls.cert and tls.key to one that clients trust')
  }
  return certificate
}

function doorOf(core: CoreParts, inside: Inside, space: FreeSpace): AcceptParts {
  const { config, clock, db, accounts, sendingDomains } = core
  return {
    db,
    clock,
    queue: inside.queue,
    space,
    idempotencyKeys: new IdempotencyKeys(core),
    accounts,
    verifiedDomainFor: (accountId, name) => sendingDomains.verifiedDomainFor(accountId, name),
    eventsWritten: () => tellOfEvents(inside),
    giveUpAfterMs: config.delivery.giveUpAfter,
  }
}

const openSubmission = ({ config, clock, log, db, apiKeys }: CoreParts, { tls, door }: DoorFrame) =>
  startSubmissionServer(
    {
      clock,
      log,
      tls,
      accept: (submission) => accept(submission, door),
      apiKeys,
      ...chunkParts(db),
    },
    { hostname: config.hostname, maxMessageBytes: config.messageSizeLimit, ...config.submission },
  )

/** What becomes of a message that is stored before all of it has arrived. */
const chunkParts = (db: CoreParts['db']) => ({
  storeChunk: async (messageId: string, chunk: number, bytes: Uint8Array) => void (await db.write(storeAhead(messageId, chunk, bytes))),
  dropChunks: async (messageId: string) => void (await db.write(dropUpload(messageId), { patient: true })),
})

function emailParts({ config, clock, log, db }: CoreParts, inside: Inside, { composer, messageParser, door }: DoorFrame): EmailParts {
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
      eventsWritten: () => tellOfEvents(inside),
    }),
    accept: (submission) => accept(submission, door),
    acceptBatch: (batch) => acceptBatch(batch, door),
    resend: (messageId, by) => resendFailed(messageId, by, { db, clock, accept: (submission) => accept(submission, door) }),
  }
}

async function openHttp(core: CoreParts, inside: Inside, frame: DoorFrame) {
  const { webhooks, follower, version } = inside
  const { tls, templates, space, rateLimit } = frame
  const { config, clock, log, db, apiKeys, audit, people } = core
  const { sessions } = people
  const emails = emailParts(core, inside, frame)
  const eventFeed = new EventFeed(db)
  const eventStreams = new EventStreams({ feed: eventFeed, follower, clock })
  const server = await startHttpServer({
    clock,
    log,
    version,
    apiKeys,
    audit,
    sessions,
    trustedProxies: config.http.trustedProxies,
    rateLimit,
    rateLimitFailures: new RateLimitFailures(clock, config.http.failedAuthenticationsPerMinute),
    baseUrl: config.baseUrl,
    listen: config.http.listen,
    tlsListen: config.http.tlsListen,
    tls,
    health: () => ({ accepting: space.isEnough }),
    docs: config.http.docs,
    operations: apiOperations({
      ...emails,
      ...peopleParts(core, webhooks),
      db,
      rollup: inside.rollup,
      clock,
      examineServer: () => examination(core),
      explain: (address) => explainAddress(address, explainParts(core, inside)),
      queueAdmin: inside.queueAdmin,
      config,
      sessions,
      templates,
      webhooks,
      suppressions: new SuppressionEntries(core),
      eventFeed,
      eventStreams,
    }),
    doors: config.compat.enabled
      ? compatDoors({ ...emails, ...chunkParts(db), hostname: config.hostname, messageSizeLimit: config.messageSizeLimit, verifiedDomainFor: frame.door.verifiedDomainFor })
      : [],
  })
  return {
    addresses: server.addresses,
    stop(graceMs: number) {
      // They would go on for ever.
      eventStreams.stop()
      return server.stop(graceMs)
    },
  }
}

/** Routes as delivery finds them. */
function explainParts({ db, config, resolver }: CoreParts, { queueAdmin }: Inside): ExplainParts {
  const { hostname, port, smarthost, ...guard } = deliverySettings(config)
  return { db, queueAdmin, route: { resolver, guard, ownNames: [hostname.toLowerCase()], port, smarthost, random: Math.random } }
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

function startJobs({ config, clock, log, db, apiKeys, audit, people, sendingDomains }: CoreParts, rollup: Rollup, stops: Stop[]): void {
  const cron = '* * * * *'
  const retention = { contentMs: config.contentRetention, eventMs: config.eventRetention }
  const scheduler = startScheduler(
    [
      { name: 'key use', cron, run: () => apiKeys.flush() },
      { name: 'domain checks', cron, run: () => sendingDomains.recheckDue() },
      { name: 'old domain keys', cron, run: () => sendingDomains.forgetOld() },
      // What is swept out must have been counted.
      { name: 'analytics and retention', cron, run: () => rollup.keepUp().then(() => sweep(db, retention, clock.now())) },
      { name: 'audit retention', cron, run: () => audit.sweep(clock.now() - retention.eventMs) },
      { name: 'ended sessions', cron, run: () => people.sessions.sweep() },
    ],
    log,
  )
  stops.push(() => scheduler.stop(), () => apiKeys.flush())
}

/** A webhook that has had no success for so long is disabled, ms. */
const disableWebhooksAfterMs = 5 * 24 * 3_600_000

function newQueue(core: CoreParts, delivery: Delivery, readers: EventReaders): QueueRunner {
  const { config, clock, log, db, secrets, sendingDomains } = core
  const verpKey = secrets.deriveKey('verp')
  const given = new Set<string>()
  sendingDomains.onKeyGone((id) => {
    if (given.delete(id)) delivery.dropKey(id)
  })

  const frameFor = (message: QueuedMessage): JobFrame | null => {
    const domain = message.domainId === null ? null : sendingDomains.senderDomain(message.domainId)
    if (!domain) return null
    for (const { id } of domain.signingKeys) {
      if (given.has(id)) continue
      delivery.addKey(id, sendingDomains.privateKey(id))
      given.add(id)
    }
    return {
      signingKeys: domain.signingKeys,
      tls: domain.tls,
      reversePathFor: (recipientId) => `${encodeVerp({ recipientId, createdAt: message.createdAt }, verpKey)}@${domain.returnPathDomain}`,
    }
  }

  return new QueueRunner(
    {
      db,
      clock,
      log,
      frameFor,
      deliver: (job, onAttempt) => delivery.deliver(job, onAttempt),
      eventsWritten: () => tellOfEvents(readers),
      random: Math.random,
    },
    { retrySchedule: config.delivery.retrySchedule, viaSmarthost: config.delivery.smarthost !== null },
  )
}

function deliverySettings(config: Config) {
  const { delivery, http, submission } = config
  return {
    hostname: config.hostname,
    dnsServers: config.dns.servers,
    port: delivery.port,
    smarthost: delivery.smarthost,
    threads: delivery.threads,
    maxConnectionsPerHost: delivery.maxConnectionsPerHost,
    messagesPerConnection: delivery.messagesPerConnection,
    idleMs: delivery.idleConnection,
    allowPrivateAddresses: delivery.allowPrivateAddresses,
    ownListeners: [...http.listen, ...http.tlsListen, ...submission.listen, ...submission.tlsListen],
    interfaceAddresses: Object.values(networkInterfaces()).flatMap((entries) => (entries ?? []).map(({ address }) => address)),
  }
}
