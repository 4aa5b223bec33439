import type { Worker } from 'node:worker_threads'
import { SternaError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { startThread } from '../../platform/program.ts'
import { OverBudget } from '../../mail/template/render-budget.ts'
import type { TemplateWork } from '../../mail/template/template-work.ts'
import { errorOf, type refusalOf } from './api/composer-messages.ts'
import { handedOver } from './api/handed-over.ts'
import { isSmall } from './api/small-source.ts'
import { largeWork, type LargeJob, type LargeWork } from './large-work.ts'

type Answer = { result: unknown } | { refusal: ReturnType<typeof refusalOf> } | { failure: string }

interface Waiting {
  job: LargeJob
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

/** An idle thread uses 30 MB; starting one takes a tenth of a second. */
const idleMs = 30_000

/** Does `largeWork`: small jobs at once, large ones one after the other on a thread that runs while there are any. */
export class LargeWorker {
  readonly #log: Log
  readonly #waiting: Waiting[] = []
  #current: Waiting | null = null
  #thread: Worker | null = null
  #idleTimer: NodeJS.Timeout | undefined

  constructor(log: Log) {
    this.#log = log
  }

  /**
   * Large bytes are transferred away from the caller.
   * @throws SternaError what the work throws; `service_unavailable` if the thread has ended meanwhile
   */
  run<Name extends keyof LargeWork>(name: Name, ...given: Parameters<LargeWork[Name]>): Promise<ReturnType<LargeWork[Name]>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job: { name, given }, resolve: resolve as Waiting['resolve'], reject })
      this.#next()
    })
  }

  /** The work on templates, large or small. */
  get templateWork(): TemplateWork {
    const either =
      <Name extends keyof TemplateWork>(name: Name) =>
      async (...given: Parameters<LargeWork[Name]>): Promise<ReturnType<LargeWork[Name]>> =>
        isSmall(given)
          ? ((largeWork[name] as (...given: unknown[]) => unknown)(...given) as ReturnType<LargeWork[Name]>)
          : this.run(name, ...given)
    return {
      faults: either('faults'),
      diff: either('diff'),
      partials: either('partials'),
      resolve: either('resolve'),
      // A small template with a long list may become a large email.
      render: async (content, values, how) => {
        if (!isSmall([content, values])) return this.run('render', content, values, how)
        try {
          return largeWork.render(content, values, { ...how, isSmall: true })
        } catch (error) {
          if (!(error instanceof OverBudget)) throw error
          return this.run('render', content, values, how)
        }
      },
    }
  }

  /** Ends the thread and refuses what waits. */
  async stop(): Promise<void> {
    const refused = this.#waiting.splice(0)
    await this.#end()
    for (const { reject } of refused) reject(ended())
  }

  #next(): void {
    if (this.#current) return
    clearTimeout(this.#idleTimer)
    this.#current = this.#waiting.shift() ?? null
    if (!this.#current) {
      this.#idleTimer = setTimeout(() => void this.#end(), idleMs).unref()
      return
    }
    this.#thread ??= this.#start()
    const { job } = this.#current
    this.#thread.postMessage(job, job.given.flatMap(handedOver))
  }

  #start(): Worker {
    const thread = startThread(new URL('./large-work-thread.ts', import.meta.url), { name: 'large-work' })
    // It does not keep the process alive; the waiting connection does.
    thread.unref()
    thread.on('message', (answer: Answer) => void (thread === this.#thread && this.#settle(answer)))
    let cause: unknown = null
    // Without a listener the failure would end the whole process; `exit` follows it.
    thread.on('error', (error) => (cause = error))
    thread.on('exit', () => {
      if (thread !== this.#thread) return
      this.#log.error({ error: cause }, 'the thread for large requests has ended; the next one starts another')
      this.#thread = null
      this.#current?.reject(ended())
      this.#current = null
      this.#next()
    })
    return thread
  }

  #settle(answer: Answer): void {
    const current = this.#current
    this.#current = null
    if ('result' in answer) current?.resolve(answer.result)
    else if ('refusal' in answer) current?.reject(errorOf(answer.refusal))
    else current?.reject(new Error(answer.failure))
    this.#next()
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idleTimer)
    const thread = this.#thread
    this.#thread = null
    this.#current?.reject(ended())
    this.#current = null
    await thread?.terminate()
  }
}

const ended = (): SternaError => new SternaError('service_unavailable', 'The server could not finish this request; try again.')
