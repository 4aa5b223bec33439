import type { Worker } from 'node:worker_threads'
import type { FromThread, ToThread } from './do-jobs.ts'
import { SternaError } from './errors.ts'
import { outcomeOf, resultOf, type JobOutcome } from './job-outcome.ts'
import { startThread } from './program.ts'

interface JobThreadOptions {
  /** The module of the thread, which calls `doJobs`. */
  module: URL
  name: string
  /** Called when the thread has ended by itself: its job is refused, and the next one starts another thread. */
  onLost(cause: unknown): void
  /** Answers what a job asks. */
  answer?(question: unknown): Promise<unknown>
}

interface Waiting {
  job: unknown
  transferred: ArrayBuffer[]
  resolve: (result: unknown) => void
  reject: (error: Error) => void
}

/** An idle thread uses 30 MB; starting one takes a tenth of a second. */
const idleMs = 30_000

/** Does jobs one after the other on a thread that runs while there are any. */
export class JobThread {
  readonly #options: JobThreadOptions
  readonly #waiting: Waiting[] = []
  #current: Waiting | null = null
  #thread: Worker | null = null
  #idleTimer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: JobThreadOptions) {
    this.#options = options
  }

  /**
   * What the job gives. Large bytes among `given` are transferred away from the caller.
   * @throws SternaError what the job throws; `service_unavailable` if the thread has ended meanwhile, and after `stop`
   */
  run(job: unknown, given: readonly unknown[]): Promise<unknown> {
    if (this.#isStopped) return Promise.reject(stopping())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, transferred: given.flatMap(handedOver), resolve, reject })
      this.#next()
    })
  }

  /** Ends the thread and refuses what waits. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const { reject } of this.#waiting.splice(0)) reject(stopping())
    await this.#end()
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
    const { job, transferred } = this.#current
    this.#thread.postMessage({ job } satisfies ToThread, transferred)
  }

  #start(): Worker {
    const { module, name, onLost } = this.#options
    const thread = startThread(module, { name })
    // It does not keep the process alive; the waiting connection does.
    thread.unref()
    thread.on('message', (message: FromThread) => {
      if (thread !== this.#thread) return
      if ('question' in message) void this.#answer(thread, message.question)
      else this.#settle(message)
    })
    let cause: unknown = null
    // Without a listener the failure would end the whole process; `exit` follows it.
    thread.on('error', (error) => (cause = error))
    thread.on('exit', () => {
      if (thread !== this.#thread) return
      onLost(cause)
      this.#thread = null
      this.#current?.reject(new SternaError('service_unavailable', 'The server could not finish this request; try again.'))
      this.#current = null
      this.#next()
    })
    return thread
  }

  async #answer(thread: Worker, question: unknown): Promise<void> {
    const answer = await outcomeOf(() => this.#options.answer?.(question))
    if (thread === this.#thread) thread.postMessage({ answer } satisfies ToThread)
  }

  #settle(outcome: JobOutcome): void {
    const current = this.#current
    this.#current = null
    try {
      current?.resolve(resultOf(outcome))
    } catch (error) {
      current?.reject(error as Error)
    }
    this.#next()
  }

  async #end(): Promise<void> {
    clearTimeout(this.#idleTimer)
    const thread = this.#thread
    this.#thread = null
    this.#current?.reject(stopping())
    this.#current = null
    await thread?.terminate()
  }
}

const stopping = (): SternaError => new SternaError('service_unavailable', 'The server is stopping; try again.')

/** What can be transferred to another thread: only bytes with a buffer of their own go without a copy. */
function handedOver(source: unknown): ArrayBuffer[] {
  if (!(source instanceof Uint8Array)) return []
  const { buffer, byteLength } = source
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []
}
