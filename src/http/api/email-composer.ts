import { Worker } from 'node:worker_threads'
import type { Clock } from '../../clock.ts'
import { SternaError } from '../../errors.ts'
import type { Submission } from '../../message/submission.ts'
import { noteShared } from '../../shared-memory.ts'
import { smallBody } from '../body-room.ts'
import type { ComposeAnswer, ComposeJob } from './composer-messages.ts'
import { submissionFrom } from './email-request.ts'
import type { EmailRequest } from './email-request.ts'

interface ComposerParts {
  clock: Clock
  /** The name in Message-ID fields. */
  hostname: string
  /** bytes; the setting `message_size_limit` */
  messageSizeLimit: number
}

interface Waiting {
  job: ComposeJob
  resolve: (submission: Submission) => void
  reject: (error: Error) => void
}

/** An idle thread holds 30 MB; starting one takes a tenth of a second. */
const idleMs = 30_000

/**
 * Makes submissions of requests to send: small ones at once, large ones one after the other on a thread of their own,
 * because 25 MB of attachments or 5 MiB of html keep one busy for longer than connections may wait.
 */
export class EmailComposer {
  readonly #parts: ComposerParts
  readonly #waiting: Waiting[] = []
  #current: Waiting | null = null
  #thread: Worker | null = null
  #idleTimer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(parts: ComposerParts) {
    this.#parts = parts
  }

  /**
   * The submission of a body that `jsonBytes` has read; a large one is taken away from its reader.
   * @throws SternaError where it is refused; `service_unavailable` after `stop`
   */
  submissionFrom(body: Buffer, request: EmailRequest): Promise<Submission> {
    const { clock, hostname, messageSizeLimit } = this.#parts
    const frame = { now: clock.now(), hostname, messageSizeLimit }
    if (body.length <= smallBody) return submissionFrom(body, request, frame)
    if (this.#isStopped) return Promise.reject(stopping())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job: { body, request, frame }, resolve, reject })
      this.#next()
    })
  }

  /** Ends the thread; what waits is refused. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const { reject } of this.#waiting.splice(0)) reject(stopping())
    await this.#end(stopping())
  }

  #next(): void {
    if (this.#current) return
    clearTimeout(this.#idleTimer)
    this.#current = this.#waiting.shift() ?? null
    if (!this.#current) {
      this.#idleTimer = setTimeout(() => void this.#end(stopping()), idleMs).unref()
      return
    }
    this.#thread ??= this.#start()
    const { job } = this.#current
    const { buffer } = job.body
    // Only bytes that lie in a piece of memory of their own can be handed over without a copy.
    const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === job.body.byteLength
    this.#thread.postMessage(job, isOwn ? [buffer] : [])
  }

  #start(): Worker {
    const thread = new Worker(new URL('./composer-thread.ts', import.meta.url), { name: 'composer' })
    // It does not keep the process alive; the connection that waits for it does.
    thread.unref()
    thread.on('message', (answer: ComposeAnswer) => {
      if (thread === this.#thread) this.#settle(answer)
    })
    // Without a listener the failure would be the whole process's; `exit` follows it.
    thread.on('error', () => {})
    thread.on('exit', () => {
      if (thread !== this.#thread) return
      this.#thread = null
      this.#settle({ failure: 'the composer thread has ended, perhaps for lack of memory' })
    })
    return thread
  }

  #settle(answer: ComposeAnswer): void {
    const current = this.#current
    this.#current = null
    if ('submission' in answer) noteShared(answer.submission.content.size)
    if ('submission' in answer) current?.resolve(answer.submission)
    else if ('failure' in answer) current?.reject(new Error(answer.failure))
    else current?.reject(new SternaError(answer.refusal.code, answer.refusal.message, answer.refusal.faults ? { faults: answer.refusal.faults } : {}))
    this.#next()
  }

  async #end(error: SternaError): Promise<void> {
    clearTimeout(this.#idleTimer)
    const thread = this.#thread
    this.#thread = null
    this.#current?.reject(error)
    this.#current = null
    await thread?.terminate()
  }
}

const stopping = (): SternaError => new SternaError('service_unavailable', 'The server is stopping; try again.')
