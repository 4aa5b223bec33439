import { analyticsReader } from '../analytics/rollup.ts'
import type { CommandParts } from '../command/command-parts.ts'
import { openCoreParts, type CoreParts, type Outside } from '../core.ts'
import type { Config } from '../config/settings.ts'
import { connectionShares, judgeOpenFiles, openFileLimit, type ConnectionShares } from '../connection/open-files.ts'
import { DataWatch } from '../data-watch.ts'
import { deliveryOptions } from '../delivery/delivery-options.ts'
import { startDelivery, type Delivery } from '../delivery/delivery-threads.ts'
import { JobFrames } from '../delivery/job-frames.ts'
import { MessageIdentity } from '../delivery/message-identity.ts'
import { ResolverWatch } from '../delivery/resolver-watch.ts'
import { startDomainReportReader } from '../domain-report/domain-report-reader.ts'
import { openDoors, type DoorAddresses } from './doors.ts'
import type { Inside, Stop } from './services.ts'
import { HitRecorder } from '../engagement/hit-recorder.ts'
import { Erasures } from '../erasure/erasures.ts'
import { SternaError } from '../errors.ts'
import { EventFollower } from '../event/event-follower.ts'
import { isClockBehind } from '../event/newest-time.ts'
import { domainReportHandler } from '../feedback/domain-report-handler.ts'
import { IncomingReports } from '../feedback/incoming-reports.ts'
import { operatorHandler } from '../feedback/operator-handler.ts'
import { ReportBudget } from '../feedback/report-budget.ts'
import { reportFigures } from '../feedback/report-figures.ts'
import { startFeedback } from '../feedback/start-feedback.ts'
import { networkRule } from '../ip-address.ts'
import { keepWatchOfClock, startJobs } from './jobs.ts'
import { watchProcess } from '../metrics/process-figures.ts'
import { NoticeRunner } from '../notice/notice-runner.ts'
import { healthFigures } from '../queue/health-figures.ts'
import { QueueAdmin } from '../queue/queue-admin.ts'
import { queueFigures } from '../queue/queue-figures.ts'
import { QueueRunner } from '../queue/queue-runner.ts'
import { diskFigures } from '../store/disk-figures.ts'
import { accept, type AcceptParts } from '../submission/accept.ts'
import { FreeSpace } from '../submission/free-space.ts'
import { IdempotencyKeys } from '../submission/idempotency-keys.ts'
import { SystemMailer } from '../submission/system-mail.ts'
import { Uploads } from '../submission/upload.ts'
import { unsubscribeKeys } from '../suppression/unsubscribe-token.ts'
import { CertifiedNames } from '../tracking/certified-names.ts'
import { judgeHits } from '../tracking/judge-hits.ts'
import { TrackingLinks } from '../tracking/tracking-links.ts'
import { trackingKeys } from '../tracking/tracking-token.ts'
import { openWebhooks, type Webhooks } from '../webhook/open-webhooks.ts'
import { webhookFigures } from '../webhook/webhook-figures.ts'

/**
 * How long reports, attempts and posts to webhooks (which are repeated after the next start) may take when the relay stops,
 * ms, one after the other. The doors have had three seconds before them; a container has ten.
 */
const grace = { feedback: 1_000, delivery: 4_000, webhooks: 1_000 }

/** A running relay. */
export interface Relay {
  parts: CommandParts
  addresses: DoorAddresses
  /** Takes no more, lets what is under way end within seconds, and leaves the rest to the next start. */
  stop(): Promise<void>
}

/**
 * Builds every part in the order in which a message travels, and starts them from its end, so that nothing is accepted
 * before it can be delivered and told of.
 * @throws SternaError `configuration` where a setting does not work out on this machine
 */
export async function startRelay(config: Config, outside: Outside & { version: string }): Promise<Relay> {
  const shares = sharesOf(openFileLimit(), config, outside)
  const core = await openCoreParts(config, { ...outside, nameServerSockets: shares.nameServers })
  const { db, clock } = core
  const stops: Stop[] = [() => core.close()]
  const stop = async (): Promise<void> => {
    for (const stopPart of stops.splice(0).reverse()) {
      try {
        await stopPart()
      } catch (error) {
        // The others must end too: where the database is locked, for one, some cannot write their last.
        outside.log.error({ error }, 'a part did not stop as it should')
      }
    }
  }
  try {
    // The thread for lists starts now: later there may be no file descriptor left for it.
    await db.report("select 'open' as reader")
    const watch = new DataWatch(core)
    await watch.start()
    stops.push(() => watch.stop())
    const webhooks = await startWebhooks(core, shares, stops)
    const follower = new EventFollower(core)
    const certified = new CertifiedNames(config.http.tlsListen.length > 0)
    const queue = await startQueue(core, { shares, certified }, stops)
    const hits = startHits(core, stops)
    addFigures(core, queue, stops)
    const rollup = analyticsReader(core)
    const noteWaiting = (destination: string, dueAt: number): void => queue.noteWaiting(destination, dueAt)
    const tryNow = (destination: string): void => queue.tryNow(destination)
    const queueAdmin = new QueueAdmin({ db, clock, noteWaiting, tryNow })
    const erasures = new Erasures(core, { isAlone: false })
    stops.push(() => erasures.stop())
    const { systemMail, ...entry } = await openEntry(core, queue, stops)
    startNotices(core, systemMail, stops)
    const { storageLimit, complaintSources } = config.returnPath
    const reports = new IncomingReports({ db, clock, budget: new ReportBudget(clock, storageLimit), complaintSources })
    await reports.measure()
    openFeedback(core, { reports, systemMail }, stops)
    const inside = {
      ...entry,
      reports,
      hits,
      certified,
      queue,
      queueAdmin,
      erasures,
      rollup,
      webhooks,
      follower,
      shares,
      version: outside.version,
    }
    const { addresses, certificate, refusedLogins } = await openDoors(core, inside, stops)
    const scheduler = startJobs(core, { rollup, reports, certificate, refusedLogins, erasures, uploads: entry.door.uploads }, stops)
    keepWatchOfClock(core, { scheduler, queue }, stops)
    return { parts: { ...core, webhooks: webhooks.list, queueAdmin, erasures }, addresses, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** @throws SternaError `configuration` where the limit of open files is too low */
function sharesOf(limit: number, { delivery }: Config, { log }: Pick<Outside, 'log'>): ConnectionShares {
  const { status, what, advice } = judgeOpenFiles(limit)
  if (status === 'failed') throw new SternaError('configuration', `${what} ${advice}`)
  if (status === 'warning') log.warn({ openFiles: limit }, `${what} ${advice}`)
  return connectionShares(limit, delivery.threads)
}

async function startWebhooks(core: CoreParts, shares: ConnectionShares, stops: Stop[]): Promise<Webhooks> {
  const settings = core.config.webhooks
  const frame = { timeoutMs: settings.timeout, disableAfterMs: disableWebhooksAfterMs, mostConnections: shares.webhooks }
  const webhooks = await openWebhooks(core, { ...settings, ...frame })
  await webhooks.start()
  stops.push(() => webhooks.stop(grace.webhooks))
  return webhooks
}

async function startQueue(
  core: CoreParts,
  { shares, ...inside }: { shares: ConnectionShares; certified: CertifiedNames },
  stops: Stop[],
): Promise<QueueRunner> {
  const resolverWatch = new ResolverWatch(core)
  const bounds = { maxConnections: shares.delivery, maxNameServerSockets: shares.nameServers, newSheet: () => core.metricsPage.sheet() }
  core.metrics.deliveryConnectionsLimit.set(shares.delivery * core.config.delivery.threads)
  const delivery = startDelivery({ ...deliveryOptions(core.config), ...bounds }, core.log, {
    lookUp: (lookUp) => resolverWatch.note(lookUp),
    login: (reason) => core.health.set('smarthost_login', reason !== null, { reason }),
  })
  const queue = newQueue(core, { delivery, resolverWatch, ...inside })
  // Before it writes anything.
  const isBehind = await isClockBehind(core)
  core.accounts.onResumed((accountId) => queue.accountResumed(accountId))
  await queue.start()
  if (isBehind) queue.clockSetBack()
  stops.push(() => Promise.all([delivery.stop(grace.delivery), queue.stop(grace.delivery)]))
  return queue
}

/** Records what readers and machines fetch by HTTP. */
function startHits(core: CoreParts, stops: Stop[]): HitRecorder {
  const { settle, readerAddresses, scannerNetworks } = core.config.tracking
  const isOperatorsScanner = networkRule(scannerNetworks)
  const scheme = core.config.baseUrl.startsWith('https:') ? 'https' : 'http'
  const hits = new HitRecorder(
    { ...core, judge: (message) => judgeHits(message, isOperatorsScanner) },
    { settleMs: settle, addresses: readerAddresses, scheme },
  )
  hits.start()
  stops.push(() => hits.stop())
  return hits
}

/** What is read when somebody asks for the metrics. */
function addFigures(core: CoreParts, queue: QueueRunner, stops: Stop[]): void {
  const { config, metrics, metricsPage } = core
  const watched = watchProcess(metrics)
  stops.push(() => watched.stop())
  const ofDisk = diskFigures(config.dataDir, metrics)
  metricsPage.add(healthFigures({ ...core, queue }), queueFigures(core), webhookFigures(core), reportFigures(core), ofDisk, watched.figures)
}

/** The door that every message gets in by, and what the server itself hands in there. */
async function openEntry(
  core: CoreParts,
  queue: QueueRunner,
  stops: Stop[],
): Promise<Pick<Inside, 'space' | 'door'> & { systemMail: SystemMailer }> {
  const { config, clock, db, metrics, accounts, sendingDomains } = core
  const space = new FreeSpace(config.dataDir, config.storage.reserve, core.health)
  await space.start()
  stops.push(() => space.stop())
  const uploads = new Uploads({ ...core, space })
  await uploads.sweep()
  const door: AcceptParts = {
    queue,
    db,
    clock,
    metrics,
    uploads,
    idempotencyKeys: new IdempotencyKeys(core),
    erasedAddress: core.erasedAddress,
    accounts,
    verifiedDomainFor: (accountId, name) => sendingDomains.verifiedDomainFor(accountId, name),
    giveUpAfterMs: config.delivery.giveUpAfter,
  }
  await sendingDomains.keepSystemDomain()
  const systemMail = new SystemMailer(
    { clock, accept: (submission, besides) => accept(submission, door, besides), systemDomain: () => sendingDomains.systemDomain() },
    { hostname: config.hostname, sandboxOnly: config.mode === 'sandbox' },
  )
  return { space, door, systemMail }
}

function startNotices(core: CoreParts, systemMail: SystemMailer, stops: Stop[]): void {
  const { hostname, notices: settings } = core.config
  const notices = new NoticeRunner({ ...core, systemMail }, { hostname, delayAfterMs: settings.delayAfter })
  notices.start()
  stops.push(() => notices.stop())
}

/** What comes of the mail that came in by the return path. */
function openFeedback(
  core: CoreParts,
  { reports, systemMail }: { reports: IncomingReports; systemMail: SystemMailer },
  stops: Stop[],
): void {
  const { config, secrets, suppressionPolicies } = core
  const operator = operatorHandler({ ...core, systemMail }, config)
  const reader = startDomainReportReader()
  stops.push(() => reader.stop())
  const domainReport = domainReportHandler({ ...core, reader })
  const feedback = startFeedback(
    {
      ...core,
      reports,
      tokenKey: secrets.deriveKey('verp'),
      policyFor: (accountId) => suppressionPolicies.policyFor(accountId),
      handlers: { dmarc_report: domainReport, tls_report: domainReport, postmaster: operator, abuse: operator },
    },
    { complaintSources: config.returnPath.complaintSources },
  )
  stops.push(() => feedback.stop(grace.feedback))
}

/** A webhook that has had no success for so long is disabled, ms. */
const disableWebhooksAfterMs = 5 * 24 * 3_600_000

function newQueue(core: CoreParts, inside: { delivery: Delivery; resolverWatch: ResolverWatch; certified: CertifiedNames }): QueueRunner {
  const { config, clock, log, health, metrics, db, secrets, sendingDomains } = core
  const { delivery, resolverWatch, certified } = inside
  const identity = new MessageIdentity({
    tokenKey: secrets.deriveKey('verp'),
    unsubscribe: { keys: unsubscribeKeys(secrets.deriveKey), baseUrl: config.baseUrl },
    feedbackSender: config.delivery.feedbackSender,
  })
  const { baseUrl, tracking } = config
  const isCertified = (host: string): boolean => tracking.hosts === 'always' || certified.covers(host)
  const links = new TrackingLinks({ keys: trackingKeys(secrets.deriveKey), baseUrl, hiddenLink: tracking.hiddenLink, isCertified })
  const frames = new JobFrames({ identity, sendingDomains, delivery, tracking: links })
  return new QueueRunner(
    {
      db,
      clock,
      log,
      health,
      metrics,
      frameFor: (message) => frames.frameFor(message),
      deliver: (job, onAttempt, supply) => delivery.deliver(job, onAttempt, supply),
      isResolverSuspect: () => resolverWatch.isSuspect,
      erasedAddress: core.erasedAddress,
      isSuspended: (accountId) => core.accounts.isSuspended(accountId),
      random: Math.random,
    },
    {
      retrySchedule: config.delivery.retrySchedule,
      viaSmarthost: config.delivery.smarthost !== null,
      suppressionPolicyFor: (accountId) => core.suppressionPolicies.policyFor(accountId),
    },
  )
}
