import type { BaseServices } from '../../platform/base-services.ts'
import type { Worker } from 'node:worker_threads'
import { setTimeout as pause } from 'node:timers/promises'
import type { Config } from '../../platform/config/settings.ts'
import { messageOf } from '../../platform/errors.ts'
import { startThread } from '../../platform/program.ts'
import type { StoreFiles } from '../../platform/store/store.ts'
import { accessOf, configuredTarget } from './backup-settings.ts'
import type { CopyRequest, CopyJob, FromCopyThread, ToCopyThread } from './copy-thread.ts'
import { openTarget } from './open-target.ts'
import { requireSpace } from './require-space.ts'
import { originOf } from './origin.ts'

interface CopyParts extends Pick<BaseServices, 'log' | 'metrics' | 'health'> {
  config: Config
  files: StoreFiles
}

/** How long a stop waits for the last commits to be stored, ms. */
const graceMs = 2_000
/** How long after a failure of the thread it starts again, ms. */
const restartMs = 5_000

/** The continuous copy of the database, as the main thread sees it: a thread of its own does the work. */
export class ContinuousCopy {
  readonly #parts: CopyParts
  readonly #job: CopyJob
  #worker: Worker | undefined
  #isStopping = false
  #stopped = Promise.withResolvers<void>()
  #bytesBefore = 0
  #bytes = 0

  /** @throws SternaError `configuration` if the target cannot be used */
  constructor(parts: CopyParts) {
    const { config, files } = parts
    const place = configuredTarget(config)
    openTarget(place, accessOf(config), '/')
    this.#parts = parts
    this.#job = {
      place,
      access: accessOf(config),
      log: files.copying.log,
      settings: {
        dataDir: config.dataDir,
        origin: originOf(config.dataDir),
        recipients: config.backup.encryptTo,
        snapshotEveryMs: config.backup.copySnapshots,
        keepMs: config.backup.copyKeep,
      },
    }
  }

  start(): void {
    const { log, health } = this.#parts
    const worker = startThread(new URL('./copy-thread.ts', import.meta.url), { workerData: this.#job })
    this.#worker = worker
    worker.on('message', (message: FromCopyThread) => this.#heard(worker, message))
    worker.on('error', (error) => log.error({ problem: messageOf(error) }, 'the thread of the continuous copy failed'))
    worker.on('exit', () => {
      if (this.#isStopping) return this.#stopped.resolve()
      health.report('copy', { problem: 'its thread ended' })
      this.#bytesBefore += this.#bytes
      this.#bytes = 0
      setTimeout(() => this.#isStopping || this.start(), restartMs).unref()
    })
  }

  /** Waits for a moment until what is committed is stored. Call it while the database is still open. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const stop: ToCopyThread = { stop: true }
    this.#worker?.postMessage(stop)
    await Promise.race([this.#stopped.promise, pause(graceMs, undefined, { ref: false })])
    await this.#worker?.terminate()
  }

  #heard(worker: Worker, message: FromCopyThread): void {
    if ('status' in message) return this.#note(message.status)
    if ('stopped' in message) return this.#stopped.resolve()
    const reply = (error: string | null): void => worker.postMessage({ id: message.id, error } satisfies ToCopyThread)
    this.#carryOut(message).then(
      () => reply(null),
      (error: unknown) => reply(messageOf(error)),
    )
  }

  async #carryOut(request: CopyRequest): Promise<void> {
    const { files } = this.#parts
    if ('begin' in request) return files.copying.begin(request.begin)
    requireSpace(files)
    return files.copying.snapshot(request.snapshot)
  }

  #note({ problem, behindMs, storedBytes, event }: Extract<FromCopyThread, { status: unknown }>['status']): void {
    const { log, health, metrics } = this.#parts
    this.#bytes = storedBytes
    metrics.copiedBytes.set(this.#bytesBefore + storedBytes)
    metrics.copyBehind.set(behindMs / 1000)
    if (event !== null) log.info({ target: this.#job.place }, event)
    health.set('copy', problem !== null, { problem })
  }
}
