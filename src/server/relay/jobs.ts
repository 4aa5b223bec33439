import { sweepClassicalHosts } from '../../mail-out/queue/classical-host-list.ts'
import { sweepProviderStops } from '../../mail-out/queue/provider-stop-list.ts'
import { sweepDomainReports } from '../../mail-back/domain-report/domain-report-store.ts'
import { sweepReports } from '../../notify/tls-report/tls-report-store.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { Retention } from '../../mail/message/retention.ts'
import { sweepLimits } from '../../platform/store/counted-uses.ts'
import { startScheduler, type Job, type Scheduler } from '../../platform/scheduler.ts'
import { memoryMs } from '../../readers/engagement/hit-recorder.ts'
import { searchIndex } from '../../readers/search/search-index.ts'
import { sweepSuppressions } from '../../mail/suppression/remove-suppressions.ts'
import type { ListenerTools } from './listener-tools.ts'
import type { Services } from './services.ts'
import type { Stop } from './stop.ts'

const cron = '* * * * *'

/** Starts the jobs, most of which run every minute: those that one process does for all, and those of each, on its own memory and files. */
export async function startJobs(services: Services & ListenerTools, stops: Stop[]): Promise<Scheduler> {
  const { log, apiKeys, nodes } = services
  let isOurs = false
  const endOurs = await nodes.duty('jobs', async () => {
    isOurs = true
    return () => void (isOurs = false)
  })
  const ofOne = jobsOfOne(services).map((job): Job => ({ ...job, run: async () => isOurs && job.run() }))
  const scheduler = startScheduler([...ofOne, ...jobsOfEach(services, () => isOurs)], log)
  stops.push(
    endOurs,
    () => scheduler.stop(),
    () => apiKeys.flush(),
  )
  return scheduler
}

function jobsOfOne(services: Services): Job[] {
  const { clock, db, audit, sendingDomains, queue, rollup, sharedHits, tlsReports, stsPolicies, smarthostTokens, harmWatch } = services
  const kept = keptBy(services)
  const retention = new Retention(db, kept)
  const search = searchIndex(services)
  // Events must have been counted and indexed before retention deletes them, and an email may be kept for longer than its events.
  const readLog = () => Promise.all([rollup.keepUp(), search.keepUp()])
  return [
    { name: 'domain checks', cron, run: () => sendingDomains.recheckDue() },
    { name: 'old domain keys', cron, run: () => sendingDomains.forgetOld() },
    { name: 'analytics, search and retention', cron, run: () => readLog().then(() => retention.sweep(clock.now())) },
    { name: 'hits of all nodes', cron, run: () => sharedHits.sweep(clock.now() - memoryMs) },
    { name: 'domain report retention', cron, run: () => sweepDomainReports(db, clock.now() - kept.eventMs) },
    { name: 'reports on TLS', cron, run: async () => tlsReports?.run() },
    { name: 'report on TLS retention', cron, run: () => sweepReports(db, clock.now(), clock.now() - kept.eventMs) },
    { name: 'suppression expiry', cron, run: () => sweepSuppressions(db, clock.now(), kept.eventMs) },
    { name: 'accounts that do harm', cron, run: () => harmWatch.look() },
    { name: 'held mail of resumed accounts', cron: '0 * * * *', run: () => queue.freeHeld() },
    { name: 'old limits', cron, run: () => sweepLimits(db, clock.now()) },
    { name: 'hosts that drop large hellos', cron, run: () => sweepClassicalHosts(db, clock.now()) },
    { name: 'stops of mail to providers', cron, run: () => sweepProviderStops(db, clock.now()) },
    { name: 'MTA-STS policies', cron, run: () => stsPolicies.keepUp() },
    { name: 'access token for the smarthost', cron, run: () => smarthostTokens.keepUp() },
    { name: 'audit retention', cron, run: () => audit.sweep(clock.now() - kept.eventMs) },
  ]
}

/** @param isOurs whether this process also does what one does for all */
function jobsOfEach(services: Services & ListenerTools, isOurs: () => boolean): Job[] {
  const { config, clock, files, upkeep, backups, apiKeys, people, reporter } = services
  const { certificates, returnedMail, erasures, uploads, previews, refusedLogins, hits } = services
  const kept = keptBy(services)
  return [
    { name: 'key use', cron, run: () => apiKeys.flush() },
    { name: 'addresses and faults of this node', cron, run: () => reporter.report() },
    { name: 'returned mail retention', cron, run: () => (isOurs() ? returnedMail.sweep(kept) : returnedMail.measure()) },
    { name: 'abandoned uploads', cron, run: () => uploads.sweep() },
    { name: 'erasures', cron, run: () => erasures.resume().then(() => erasures.sweep(clock.now() - kept.eventMs)) },
    { name: 'database file maintenance', cron, run: async () => upkeep?.run() },
    { name: 'backups before upgrades', cron, run: async () => files?.removeUpgradeBackups(clock.now() - config.upgrade.keepBackup) },
    { name: 'certificate', cron, run: () => certificates.renewal.look() },
    { name: 'keys of TLS tickets', cron, run: () => certificates.tickets.look() },
    { name: 'certificates from the authority', cron, run: async () => certificates.acme?.look() },
    { name: 'refused logins', cron, run: async () => refusedLogins.tell() },
    { name: 'old previews', cron, run: () => previews.sweep() },
    ...(config.backup.schedule === null ? [] : [{ name: 'backup', cron: config.backup.schedule, run: () => backups.runScheduled() }]),
    { name: 'overdue backup', cron, run: () => backups.look() },
    { name: 'opens and clicks', cron, run: async () => hits.look() },
    { name: 'ended sessions', cron, run: () => people.sessions.sweep() },
  ]
}

/** The settings may change meanwhile. */
const keptBy = ({ config }: Services) => ({
  get contentMs() {
    return config.contentRetention
  },
  get eventMs() {
    return config.eventRetention
  },
})

/** If the clock was set back, nothing must wait for it to catch up. */
export function keepWatchOfClock({ log, clockWatch, queue, webhooks }: Services, scheduler: Scheduler, stops: Stop[]): void {
  clockWatch.onJump(({ from, to }) => {
    log.warn({ from: isoTime(from), to: isoTime(to) }, 'the clock was set, or the machine or this process slept')
    scheduler.clockSet()
    if (to >= from) return queue.clockSetForward()
    queue.clockSetBack()
    webhooks.clockSetBack()
  })
  clockWatch.start()
  stops.push(() => clockWatch.stop())
}
