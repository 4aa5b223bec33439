import type { BaseServices } from '../../platform/base-services.ts'
import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Config } from '../../platform/config/settings.ts'
import { messageOf, SternaError } from '../../platform/errors.ts'
import { startThread } from '../../platform/program.ts'
import { requireFiles, type Store } from '../../platform/store/store.ts'
import { newStem, type BackupName } from './backup-name.ts'
import { accessOf, configuredTarget, keepOf } from './backup-settings.ts'
import type { BackupAnswer, BackupJob } from './backup-thread.ts'
import { copyKeyFile } from './copy-key-file.ts'
import { backupsToRemove } from './kept-backups.ts'
import { knowTarget, renewMark } from './known-target.ts'
import { originOf } from './origin.ts'
import { requireSpace } from './require-space.ts'
import { listBackups, listUnfinished, removeBackup, type Manifest } from './store-backup.ts'
import { isS3, openTarget } from './open-target.ts'
import type { Target } from './target.ts'

interface BackupServices extends Pick<BaseServices, 'clock' | 'log' | 'metrics' | 'health'> {
  config: Config
  db: Pick<Store['db'], 'read'>
  files: Store['files']
}

/** Where the database is copied to before it is stored. */
const stagingName = 'backing-up'
/** How old an unfinished backup must be, ms, before it counts as left by a process that was killed. */
const leftAfterMs = 24 * 3_600_000

/** Makes backups at targets: on request, and the scheduled ones. */
export class Backups {
  readonly #services: BackupServices
  #isBusy = false
  /** When the newest backup at the configured target was begun; undefined until that is known. */
  #newestAt: number | undefined
  readonly #startedAt: number

  constructor(services: BackupServices) {
    this.#services = services
    this.#startedAt = services.clock.now()
    services.metrics.lastBackup.set(NaN)
  }

  /**
   * Stores a backup at a target: the database as it is now, checked.
   * @param text `s3://bucket/prefix`, or a directory
   * @throws SternaError `invalid_state` if another one is being made, or this one fails; then nothing counts as a backup. Also if the
   *   database is on a server
   */
  async make(text: string, options: { cwd: string; withKey: boolean }): Promise<Manifest> {
    const files = requireFiles(this.#services.files, 'backup')
    if (this.#isBusy) throw new SternaError('invalid_state', 'A backup is being made. Try again once it is done.')
    this.#isBusy = true
    const { config } = this.#services
    const staging = join(config.dataDir, stagingName)
    try {
      const place = isS3(text) ? text : resolve(options.cwd, text)
      await this.#reach(openTarget(place, accessOf(config), '/'))
      await rm(staging, { recursive: true, force: true })
      await mkdir(staging, { mode: 0o700 })
      const file = join(staging, 'copy.db')
      const stem = newStem(this.#services.clock.now(), originOf(config.dataDir))
      requireSpace(files)
      const keyFile = options.withKey ? join(staging, 'copy.key') : null
      if (keyFile !== null) await copyKeyFile(config.secretKeyFile, keyFile, this.#services.db)
      await files.backup(file)
      return await inThread({ place, access: accessOf(config), source: { stem, file, keyFile, recipients: config.backup.encryptTo } })
    } finally {
      await rm(staging, { recursive: true, force: true })
      this.#isBusy = false
    }
  }

  /** The configured target must be the one from before. Any other is used as it is. */
  async #reach(target: Target): Promise<void> {
    const { config, log } = this.#services
    const isConfigured = config.backup.target !== null && openTarget(config.backup.target, accessOf(config), '/').place === target.place
    if (!isConfigured) return target.prepare('')
    if (!(await knowTarget(target, config.dataDir)))
      log.warn({ target: target.label }, 'the target of backups is new, or another than before')
  }

  /** Makes the scheduled backup, and removes those that are no longer kept. What fails becomes a fault. */
  async runScheduled(): Promise<void> {
    const { config, log, health, metrics } = this.#services
    const text = configuredTarget(config)
    try {
      const { name, database, content, begun_at: begunAt } = await this.make(text, { cwd: '/', withKey: false })
      log.info({ target: text, backup: name, bytes: database.bytes, ...content }, 'a backup was stored and checked')
      this.#noteNewest(Date.parse(begunAt))
      const target = openTarget(text, accessOf(config), '/')
      await this.#removeOld(target)
      await renewMark(target, config.dataDir)
      health.clear('backup')
    } catch (error) {
      metrics.failedBackups.add()
      log.error({ target: text, problem: messageOf(error) }, 'the scheduled backup failed')
      health.report('backup', { problem: messageOf(error) })
    }
  }

  /** Looks for an overdue backup. Does nothing unless backups are scheduled. */
  async look(): Promise<void> {
    const { config, clock, health } = this.#services
    if (config.backup.schedule === null) return
    if (this.#newestAt === undefined) await this.#findNewest()
    if (clock.now() - (this.#newestAt ?? this.#startedAt) > config.backup.overdueAfter)
      health.report('backup', { problem: 'the backup is overdue' })
  }

  async #findNewest(): Promise<void> {
    const { config, log } = this.#services
    const origin = originOf(config.dataDir)
    try {
      const found = await listBackups(openTarget(configuredTarget(config), accessOf(config), '/'))
      const newest = found.findLast((backup) => backup.origin === origin)
      if (newest) this.#noteNewest(newest.at)
    } catch (error) {
      log.warn({ problem: messageOf(error) }, 'the target of backups cannot be listed')
    }
  }

  #noteNewest(at: number): void {
    this.#newestAt = at
    this.#services.metrics.lastBackup.set(at / 1000)
  }

  async #removeOld(target: Target): Promise<void> {
    const { config, log } = this.#services
    const origin = originOf(config.dataDir)
    const ours = (await listBackups(target)).filter((backup) => backup.origin === origin)
    for (const { stem } of backupsToRemove(ours, keepOf(config))) {
      await removeBackup(target, stem)
      log.info({ target: target.label, backup: stem }, 'an old backup was removed')
    }
    const isLeft = (each: BackupName): boolean => each.origin === origin && each.at < this.#services.clock.now() - leftAfterMs
    for (const { stem } of (await listUnfinished(target)).filter(isLeft)) await removeBackup(target, stem)
  }
}

/** Examining and encrypting take long, so they have a thread of their own. */
async function inThread(job: BackupJob): Promise<Manifest> {
  const worker = startThread(new URL('./backup-thread.ts', import.meta.url), { workerData: job })
  const answer = await new Promise<BackupAnswer>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the thread of the backup ended')))
  })
  if ('manifest' in answer) return answer.manifest
  throw new SternaError('invalid_state', answer.error)
}
