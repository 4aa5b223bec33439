import { sweepDomainReports } from '../../mail-back/domain-report/domain-report-store.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { Retention } from '../../mail/message/retention.ts'
import { startScheduler, type Scheduler } from '../../platform/scheduler.ts'
import { searchIndex } from '../../readers/search/search-index.ts'
import { sweepSuppressions } from '../../mail/suppression/remove-suppressions.ts'
import type { ListenerTools } from './listener-tools.ts'
import type { Services } from './services.ts'
import type { Stop } from './stop.ts'

/** Starts the jobs that run every minute. */
export function startJobs(services: Services & ListenerTools, stops: Stop[]): Scheduler {
  const { config, clock, log, db, files, upkeep, backups, apiKeys, audit, people, sendingDomains } = services
  const { certificates, rollup, returnedMail, erasures, uploads, previews, refusedLogins } = services
  const cron = '* * * * *'
  const kept = {
    get contentMs() {
      return config.contentRetention
    },
    get eventMs() {
      return config.eventRetention
    },
  }
  const retention = new Retention(db, kept)
  const search = searchIndex(services)
  // Events must have been counted and indexed before retention deletes them, and an email may be kept for longer than its events.
  const readLog = () => Promise.all([rollup.keepUp(), search.keepUp()])
  const scheduler = startScheduler(
    [
      { name: 'key use', cron, run: () => apiKeys.flush() },
      { name: 'domain checks', cron, run: () => sendingDomains.recheckDue() },
      { name: 'old domain keys', cron, run: () => sendingDomains.forgetOld() },
      { name: 'analytics, search and retention', cron, run: () => readLog().then(() => retention.sweep(clock.now())) },
      { name: 'returned mail retention', cron, run: () => returnedMail.sweep(kept) },
      { name: 'domain report retention', cron, run: () => sweepDomainReports(db, clock.now() - kept.eventMs) },
      { name: 'abandoned uploads', cron, run: () => uploads.sweep() },
      { name: 'suppression expiry', cron, run: () => sweepSuppressions(db, clock.now(), kept.eventMs) },
      { name: 'audit retention', cron, run: () => audit.sweep(clock.now() - kept.eventMs) },
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
      { name: 'ended sessions', cron, run: () => people.sessions.sweep() },
    ],
    log,
  )
  stops.push(
    () => scheduler.stop(),
    () => apiKeys.flush(),
  )
  return scheduler
}

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
