import type { Core } from '../../api/core.ts'
import { returnedMailFigures } from '../../mail-back/feedback/returned-mail-figures.ts'
import { FreeSpace } from '../../mail-in/submission/free-space.ts'
import { IdempotencyKeys } from '../../mail-in/submission/idempotency-keys.ts'
import { openIntake, type Intake } from '../../mail-in/submission/intake.ts'
import { SystemMailer } from '../../mail-in/submission/system-mail.ts'
import { Uploads } from '../../mail-in/submission/upload.ts'
import { healthFigures } from '../../mail-out/queue/health-figures.ts'
import { QueueAdmin } from '../../mail-out/queue/queue-admin.ts'
import { queueFigures } from '../../mail-out/queue/queue-figures.ts'
import type { QueueRunner } from '../../mail-out/queue/queue-runner.ts'
import type { Lane } from '../../mail-out/queue/queue-store.ts'
import { Reprieve } from '../../mail-out/queue/reprieve.ts'
import { EventFollower } from '../../mail/event/event-follower.ts'
import { isClockBehind } from '../../mail/event/newest-time.ts'
import { HarmWatch } from '../../notify/account-harm/harm-watch.ts'
import { NoticeRunner } from '../../notify/notice/notice-runner.ts'
import { LoginChanges } from '../../notify/password-reset/login-changes.ts'
import { ResetRequests } from '../../notify/password-reset/reset-requests.ts'
import { SessionCounts } from '../../notify/tls-report/session-counts.ts'
import { tlsReportSettings } from '../../notify/tls-report/tls-report-settings.ts'
import { TlsReportRunner } from '../../notify/tls-report/tls-report-runner.ts'
import { openWebhooks, type Webhooks } from '../../notify/webhook/open-webhooks.ts'
import { WebhookPoster } from '../../notify/webhook/post-webhook.ts'
import { webhookFigures } from '../../notify/webhook/webhook-figures.ts'
import { ClockWatch } from '../../platform/clock-watch.ts'
import { sendsTlsReports } from '../../platform/config/sends-tls-reports.ts'
import { networkRule } from '../../platform/ip-address.ts'
import { watchProcess } from '../../platform/metrics/process-figures.ts'
import { diskFigures, leaveOutDisk } from '../../platform/store/disk-figures.ts'
import { analyticsReader } from '../../readers/analytics/rollup.ts'
import { HitRecorder } from '../../readers/engagement/hit-recorder.ts'
import { SharedHits } from '../../readers/engagement/shared-hits.ts'
import { judgeHits } from '../../readers/tracking/judge-hits.ts'
import type { AcceptServices } from '../../mail-in/submission/admit.ts'
import { SlowedMail } from '../../mail-in/submission/slowed-mail.ts'
import { UrgentMail } from '../../mail-in/submission/urgent-mail.ts'
import { SecretKeyRotation } from '../../senders/account/secret-key-rotation.ts'
import { DataWatch } from '../../upkeep/data-watch.ts'
import { Erasures } from '../../upkeep/erasure/erasures.ts'
import { openCertificates } from './open-certificates.ts'
import { openFeedback } from './open-feedback.ts'
import type { Opened } from './opened.ts'
import { startQueue } from './start-queue.ts'
import { start, type Stop } from './stop.ts'

/** ms that webhook posts in hand get when the relay stops. They are repeated after the next start. */
const webhookGraceMs = 1_000
/** ms without success after which a webhook is disabled */
const disableWebhooksAfterMs = 5 * 24 * 3_600_000

/** The services behind the listeners, by name. */
export type Services = Awaited<ReturnType<typeof startServices>>

/** Builds the services behind the listeners in order: followers of events before what records them. */
export async function startServices(opened: Opened, stops: Stop[]) {
  const { config, sendingDomains } = opened
  await start(new DataWatch(opened), stops)
  await start(new SecretKeyRotation(opened), stops)
  const clockWatch = new ClockWatch(opened.clock)
  const reprieve = await start(new Reprieve({ ...opened, watch: clockWatch }, config.delivery.giveUpAfter), stops)
  // Compares the clock with what the database knows, before anything is recorded.
  const time = { reprieve, isClockBehind: await isClockBehind(opened) }
  const webhooks = await startWebhooks({ ...opened, ...time }, stops)
  const certificates = await openCertificates(opened)
  const sessionCounts = sendsTlsReports(config) ? new SessionCounts(opened) : null
  // After the delivery threads have ended.
  stops.push(() => sessionCounts?.flush())
  const queue = await startQueue({ ...opened, ...time, certificates, sessionCounts }, stops)
  const sharedHits = new SharedHits(opened)
  const hits = await start(hitRecorder({ ...opened, shared: sharedHits }), stops)
  stops.push(await opened.nodes.duty('opens and clicks', async () => hits.settle()))
  addFigures({ ...opened, queue }, stops)
  const noteWaiting = (lane: Lane, dueAt: number): void => queue.noteWaiting(lane, dueAt)
  const queueAdmin = new QueueAdmin({ ...opened, noteWaiting, tryNow: (destination) => queue.tryNow(destination) })
  const erasures = await start(new Erasures(opened), stops)
  const space = await start(new FreeSpace(opened.files?.directory ?? null, config.storage.reserve, opened.health), stops)
  const uploads = new Uploads({ ...opened, space })
  await uploads.sweep()
  takeOverLeft({ ...opened, uploads, erasures })
  const verifiedDomainFor = (accountId: string, name: string) => sendingDomains.verifiedDomainFor(accountId, name)
  const idempotencyKeys = new IdempotencyKeys(opened)
  const intake = await startIntake({ ...opened, queue, uploads, idempotencyKeys, verifiedDomainFor }, stops)
  const mailing = await startSystemMail({ ...opened, ...intake }, stops)
  const rollup = analyticsReader(opened)
  return {
    ...opened,
    ...intake,
    ...mailing,
    clockWatch,
    webhooks,
    certificates,
    queue,
    hits,
    sharedHits,
    noteWaiting,
    queueAdmin,
    erasures,
    space,
    uploads,
    idempotencyKeys,
    verifiedDomainFor,
    follower: new EventFollower(opened),
    rollup,
    harmWatch: new HarmWatch({ ...opened, ...opened.people, ...mailing, rollup }, config),
  }
}

/** What a node has left of these is free as soon as it has gone; it need not wait for the job of the next minute. */
function takeOverLeft({ nodes, log, uploads, erasures }: Opened & { uploads: Uploads; erasures: Erasures }): void {
  const failed = (error: unknown): void => log.warn({ error }, 'what another node has left is looked for again in a minute')
  const onFreed = (): void => {
    void Promise.all([uploads.sweep(), erasures.resume()]).catch(failed)
  }
  nodes.freeBuried({ free: () => [], onFreed })
}

type IntakeServices = Opened & Pick<AcceptServices, 'queue' | 'uploads' | 'idempotencyKeys' | 'verifiedDomainFor'>

async function startIntake(services: IntakeServices, stops: Stop[]): Promise<Intake> {
  const urgentMail = await start(new UrgentMail(services), stops)
  const slowedMail = await start(new SlowedMail(services), stops)
  return openIntake({ ...services, urgentMail, slowedMail, giveUpAfterMs: services.config.delivery.giveUpAfter })
}

async function startWebhooks(opened: Opened & { reprieve: Reprieve; isClockBehind: boolean }, stops: Stop[]): Promise<Webhooks> {
  const { timeout, ...settings } = opened.config.webhooks
  const limits = { timeoutMs: timeout, disableAfterMs: disableWebhooksAfterMs, maxConnections: opened.shares.webhooks }
  const webhooks = await openWebhooks(opened, { ...limits, ...settings })
  stops.push(() => webhooks.stop(webhookGraceMs))
  await webhooks.start()
  if (opened.isClockBehind) webhooks.clockSetBack()
  return webhooks
}

/** Records what readers and machines fetch over HTTP. */
function hitRecorder(core: Core & { shared: SharedHits }): HitRecorder {
  const { settle, readerAddresses, scannerNetworks } = core.config.tracking
  const isOperatorsScanner = networkRule(scannerNetworks)
  const scheme = core.config.baseUrl.startsWith('https:') ? 'https' : 'http'
  return new HitRecorder(
    { ...core, judge: (message) => judgeHits(message, isOperatorsScanner) },
    { settleMs: settle, addresses: readerAddresses, scheme },
  )
}

/** Figures that are read when somebody asks for the metrics. */
function addFigures(services: Core & { queue: QueueRunner }, stops: Stop[]): void {
  const { files, metrics, metricsPage } = services
  const watched = watchProcess(metrics)
  stops.push(() => watched.stop())
  if (files === null) leaveOutDisk(metrics)
  const ofDisk = files === null ? [] : [diskFigures(files, metrics)]
  const ofMail = [healthFigures(services), queueFigures(services), webhookFigures(services), returnedMailFigures(services)]
  metricsPage.add(...ofMail, ...ofDisk, watched.figures)
}

/** What sends mail of the server itself, which is accepted the same way as everybody's, and the returned mail that it may answer. */
async function startSystemMail(services: Opened & Intake, stops: Stop[]) {
  const { config, people, sendingDomains } = services
  const { hostname, baseUrl, mode } = config
  await sendingDomains.keepSystemDomain()
  const systemDomain = () => sendingDomains.systemDomain()
  const systemMail = new SystemMailer({ ...services, systemDomain }, { hostname, sandboxOnly: mode === 'sandbox' })
  const own = { ...services, ...people, systemMail }
  const notices = new NoticeRunner(own, { hostname, delayAfterMs: config.notices.delayAfter })
  const endNotices = await services.nodes.duty('delivery notices', async () => {
    await notices.start()
    return () => notices.stop()
  })
  stops.push(endNotices)
  const tlsReports = tlsReportRunner(own, stops)
  const returnedMail = await openFeedback(own, stops)
  const toUsers = { baseUrl, canMail: mode !== 'sandbox' }
  const resetRequests = new ResetRequests(own, toUsers)
  const loginChanges = new LoginChanges(own, toUsers)
  stops.push(
    () => resetRequests.idle(),
    () => loginChanges.idle(),
  )
  return { systemMail, returnedMail, resetRequests, loginChanges, tlsReports }
}

/** Null if no reports on TLS are sent. */
function tlsReportRunner(services: Opened & { systemMail: SystemMailer }, stops: Stop[]): TlsReportRunner | null {
  const { config, reportPoster } = services
  if (!sendsTlsReports(config)) return null
  // RFC 8460 3 lets a server with a bad certificate have its reports: they may be about just that.
  const limits = { allowPrivateAddresses: 'never', timeoutMs: config.webhooks.timeout, trustsAnyCertificate: true } as const
  const own = new WebhookPoster(services, limits)
  stops.push(() => own.close())
  return new TlsReportRunner({ ...services, poster: reportPoster ?? own, random: Math.random }, tlsReportSettings(config))
}
