import { analyticsReader } from '../../readers/analytics/rollup.ts'
import { ClockWatch } from '../../platform/clock-watch.ts'
import type { ConnectionShares } from '../../platform/connection/open-files.ts'
import type { Core } from '../../api/core.ts'
import { DataWatch } from '../../upkeep/data-watch.ts'
import { HitRecorder } from '../../readers/engagement/hit-recorder.ts'
import { Erasures } from '../../upkeep/erasure/erasures.ts'
import { EventFollower } from '../../mail/event/event-follower.ts'
import type { LogReader } from '../../mail/event/log-reader.ts'
import { isClockBehind } from '../../mail/event/newest-time.ts'
import type { ReturnedMailStore } from '../../mail-back/feedback/returned-mail-store.ts'
import { returnedMailFigures } from '../../mail-back/feedback/returned-mail-figures.ts'
import { networkRule } from '../../platform/ip-address.ts'
import { watchProcess } from '../../platform/metrics/process-figures.ts'
import { NoticeRunner } from '../../notify/notice/notice-runner.ts'
import { LoginChanges } from '../../notify/password-reset/login-changes.ts'
import { ResetRequests } from '../../notify/password-reset/reset-requests.ts'
import { healthFigures } from '../../mail-out/queue/health-figures.ts'
import { QueueAdmin } from '../../mail-out/queue/queue-admin.ts'
import { queueFigures } from '../../mail-out/queue/queue-figures.ts'
import type { QueueRunner } from '../../mail-out/queue/queue-runner.ts'
import { Reprieve } from '../../mail-out/queue/reprieve.ts'
import { diskFigures } from '../../platform/store/disk-figures.ts'
import { FreeSpace } from '../../mail-in/submission/free-space.ts'
import { openIntake, type Intake } from '../../mail-in/submission/intake.ts'
import { SystemMailer } from '../../mail-in/submission/system-mail.ts'
import { Uploads } from '../../mail-in/submission/upload.ts'
import { judgeHits } from '../../readers/tracking/judge-hits.ts'
import { openWebhooks, type Webhooks } from '../../notify/webhook/open-webhooks.ts'
import { webhookFigures } from '../../notify/webhook/webhook-figures.ts'
import { openCertificates, type Certificates } from './open-certificates.ts'
import { openFeedback } from './open-feedback.ts'
import { startQueue } from './start-queue.ts'
import type { Stop } from './stop.ts'

/** ms that webhook posts in hand get when the relay stops. They are repeated after the next start. */
const webhookGraceMs = 1_000
/** ms without success after which a webhook is disabled */
const disableWebhooksAfterMs = 5 * 24 * 3_600_000

/** What exists before anything is started. */
interface Given {
  shares: ConnectionShares
  version: string
}

/** The services behind the listeners, by name. */
export interface Services extends Given {
  core: Core
  clockWatch: ClockWatch
  webhooks: Webhooks
  follower: EventFollower
  rollup: LogReader
  queue: QueueRunner
  queueAdmin: QueueAdmin
  erasures: Erasures
  hits: HitRecorder
  certificates: Certificates
  space: FreeSpace
  uploads: Uploads
  intake: Intake
  /** What came in through the return path. */
  returnedMail: ReturnedMailStore
  resetRequests: ResetRequests
  loginChanges: LoginChanges
}

/** Builds the services behind the listeners in order: followers of events before what records them. */
export async function startServices(core: Core, given: Given, stops: Stop[]): Promise<Services> {
  const { config, db, clock, health } = core
  const watch = new DataWatch(core)
  await watch.start()
  stops.push(() => watch.stop())
  const { clockWatch, ...time } = await startTime(core, stops)
  const webhooks = await startWebhooks(core, { shares: given.shares, ...time }, stops)
  const certificates = await openCertificates(core, given.version, stops)
  // Browsers see only the certificates of HTTP.
  const isCertified = (host: string): boolean => config.http.tlsListen.length > 0 && certificates.server.covers(host)
  const queue = await startQueue(core, { shares: given.shares, isCertified, ...time }, stops)
  const hits = startHits(core, stops)
  addFigures(core, queue, stops)
  const noteWaiting = (destination: string, dueAt: number): void => queue.noteWaiting(destination, dueAt)
  const queueAdmin = new QueueAdmin({ db, clock, health, noteWaiting, tryNow: (destination) => queue.tryNow(destination) })
  const erasures = new Erasures(core, { isAlone: false })
  stops.push(() => erasures.stop())
  const space = new FreeSpace(config.dataDir, config.storage.reserve, core.health)
  await space.start()
  stops.push(() => space.stop())
  const uploads = new Uploads({ db, log: core.log, space })
  await uploads.sweep()
  const intake = intakeOf(core, { queue, uploads })
  const systemMail = await openSystemMail(core, intake)
  await startNotices(core, systemMail, stops)
  const returnedMail = await openFeedback(core, systemMail, stops)
  const resetRequests = startResetRequests(core, systemMail, stops)
  const loginChanges = startLoginChanges(core, systemMail, stops)
  const follower = new EventFollower(core)
  const rollup = analyticsReader(core)
  return {
    core,
    ...given,
    clockWatch,
    webhooks,
    follower,
    rollup,
    queue,
    queueAdmin,
    erasures,
    hits,
    certificates,
    space,
    uploads,
    intake,
    returnedMail,
    resetRequests,
    loginChanges,
  }
}

/** Compares the clock with what the database knows, before anything is recorded. */
async function startTime(core: Core, stops: Stop[]): Promise<{ clockWatch: ClockWatch; reprieve: Reprieve; isClockBehind: boolean }> {
  const clockWatch = new ClockWatch(core.clock)
  const reprieve = new Reprieve({ ...core, watch: clockWatch }, core.config.delivery.giveUpAfter)
  stops.push(() => reprieve.stop())
  await reprieve.start()
  return { clockWatch, reprieve, isClockBehind: await isClockBehind(core) }
}

async function startWebhooks(
  core: Core,
  { shares, reprieve, isClockBehind }: { shares: ConnectionShares; reprieve: Reprieve; isClockBehind: boolean },
  stops: Stop[],
): Promise<Webhooks> {
  const { timeout, ...settings } = core.config.webhooks
  const webhooks = await openWebhooks(
    { ...core, reprieve },
    { timeoutMs: timeout, disableAfterMs: disableWebhooksAfterMs, maxConnections: shares.webhooks, ...settings },
  )
  stops.push(() => webhooks.stop(webhookGraceMs))
  await webhooks.start()
  if (isClockBehind) webhooks.clockSetBack()
  return webhooks
}

/** Records what readers and machines fetch over HTTP. */
function startHits({ config, db, clock, log }: Core, stops: Stop[]): HitRecorder {
  const { settle, readerAddresses, scannerNetworks } = config.tracking
  const isOperatorsScanner = networkRule(scannerNetworks)
  const scheme = config.baseUrl.startsWith('https:') ? 'https' : 'http'
  const hits = new HitRecorder(
    { db, clock, log, judge: (message) => judgeHits(message, isOperatorsScanner) },
    { settleMs: settle, addresses: readerAddresses, scheme },
  )
  hits.start()
  stops.push(() => hits.stop())
  return hits
}

/** Figures that are read when somebody asks for the metrics. */
function addFigures(core: Core, queue: QueueRunner, stops: Stop[]): void {
  const { config, health, metrics, metricsPage } = core
  const watched = watchProcess(metrics)
  stops.push(() => watched.stop())
  const ofDisk = diskFigures(config.dataDir, metrics)
  const ofHealth = healthFigures({ health, metrics, queue })
  metricsPage.add(ofHealth, queueFigures(core), webhookFigures(core), returnedMailFigures(core), ofDisk, watched.figures)
}

function intakeOf(core: Core, { queue, uploads }: { queue: QueueRunner; uploads: Uploads }): Intake {
  const { db, clock, log, metrics, accounts, quotas, erasedAddress, idempotencyKeys, sendingDomains, config } = core
  return openIntake({
    db,
    clock,
    log,
    metrics,
    accounts,
    quotas,
    erasedAddress,
    idempotencyKeys,
    queue,
    uploads,
    verifiedDomainFor: (accountId, name) => sendingDomains.verifiedDomainFor(accountId, name),
    giveUpAfterMs: config.delivery.giveUpAfter,
  })
}

/** Mail from the server itself, accepted the same way as everybody's. */
async function openSystemMail({ config, clock, sendingDomains }: Core, { accept }: Intake): Promise<SystemMailer> {
  await sendingDomains.keepSystemDomain()
  return new SystemMailer(
    { clock, accept, systemDomain: () => sendingDomains.systemDomain() },
    { hostname: config.hostname, sandboxOnly: config.mode === 'sandbox' },
  )
}

async function startNotices(
  { config, db, clock, log, policies, sendingDomains }: Core,
  systemMail: SystemMailer,
  stops: Stop[],
): Promise<void> {
  const settings = { hostname: config.hostname, delayAfterMs: config.notices.delayAfter }
  const notices = new NoticeRunner({ db, clock, log, policies, sendingDomains, systemMail }, settings)
  stops.push(() => notices.stop())
  await notices.start()
}

function startResetRequests({ config, clock, log, accounts, people, audit }: Core, systemMail: SystemMailer, stops: Stop[]): ResetRequests {
  const { users, resets } = people
  const settings = { baseUrl: config.baseUrl, canMail: config.mode !== 'sandbox' }
  const requests = new ResetRequests({ clock, log, accounts, users, resets, audit, systemMail }, settings)
  stops.push(() => requests.idle())
  return requests
}

function startLoginChanges({ config, clock, log, accounts, people }: Core, systemMail: SystemMailer, stops: Stop[]): LoginChanges {
  const settings = { baseUrl: config.baseUrl, canMail: config.mode !== 'sandbox' }
  const changes = new LoginChanges({ clock, log, accounts, users: people.users, systemMail }, settings)
  stops.push(() => changes.idle())
  return changes
}
