import { Worker } from 'node:worker_threads'
import { SternaError } from '../errors.ts'

export interface ParsedMessage {
  /** As it came: hostile. */
  html: string | null
  text: string | null
  attachments: { filename: string | null; contentType: string; size: number; contentId: string | null }[]
  /** Names in lower case, values unfolded and decoded, in their order. */
  headers: { name: string; value: string }[]
}

export type ParserAnswer = { message: ParsedMessage } | { fault: string }

export interface MessageParser {
  /**
   * Reads a MIME message on the parser thread. Rejects with `invalid_message` where it cannot be read within
   * the limits of time and memory; messages that wait behind it are not affected. Bytes in shared memory are not copied.
   */
  parse(bytes: Uint8Array): Promise<ParsedMessage>
  /** Ends the thread; what waits is rejected with `service_unavailable`. */
  stop(): Promise<void>
}

interface Job {
  bytes: Uint8Array
  resolve: (message: ParsedMessage) => void
  reject: (error: SternaError) => void
}

const invalid = (message: string, cause?: unknown): SternaError => new SternaError('invalid_message', message, { cause })

/** One thread that works through one message at a time, so that a limit is always the fault of the message in hand. */
class ParserThread implements MessageParser {
  readonly #limits: { timeoutMs: number; maxOldSpaceMb: number }
  readonly #waiting: Job[] = []
  #current: Job | null = null
  #worker: Worker | null = null
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(limits: { timeoutMs: number; maxOldSpaceMb: number }) {
    this.#limits = limits
  }

  parse(bytes: Uint8Array): Promise<ParsedMessage> {
    if (this.#isStopped) return Promise.reject(new SternaError('service_unavailable', 'The server is stopping; try again.'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes, resolve, reject })
      this.#next()
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    const left = [...(this.#current ? [this.#current] : []), ...this.#waiting.splice(0)]
    this.#current = null
    for (const job of left) job.reject(new SternaError('service_unavailable', 'The server is stopping; try again.'))
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  #next(): void {
    if (this.#current || this.#isStopped) return
    const job = this.#waiting.shift()
    if (!job) return
    this.#current = job
    const worker = (this.#worker ??= this.#start())
    worker.ref()
    this.#timer = setTimeout(() => {
      this.#fail(worker, invalid(`The message could not be read within ${this.#limits.timeoutMs} ms.`))
    }, this.#limits.timeoutMs)
    worker.postMessage(job.bytes)
  }

  #start(): Worker {
    const worker = new Worker(new URL('./parser-thread.ts', import.meta.url), {
      name: 'parser',
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.maxOldSpaceMb },
    })
    worker.on('message', (answer: ParserAnswer) => this.#settle(worker, answer))
    worker.on('error', (cause) => {
      this.#fail(worker, invalid('The message needs more memory than allowed, or broke the parser.', cause))
    })
    worker.on('exit', () => this.#fail(worker, invalid('The parser ended while it read the message.')))
    return worker
  }

  #settle(worker: Worker, answer: ParserAnswer): void {
    if (worker !== this.#worker) return
    clearTimeout(this.#timer)
    const job = this.#current
    this.#current = null
    // An idle thread does not keep the process alive.
    worker.unref()
    if ('message' in answer) job?.resolve(answer.message)
    else job?.reject(invalid(`The message cannot be read: ${answer.fault}`))
    this.#next()
  }

  /** The thread is of no more use: the message in hand is refused, the next one gets a new thread. */
  #fail(worker: Worker, error: SternaError): void {
    if (worker !== this.#worker) return
    clearTimeout(this.#timer)
    this.#worker = null
    const job = this.#current
    this.#current = null
    void worker.terminate()
    job?.reject(error)
    this.#next()
  }
}

/** Starts nothing until the first message comes. */
export const startMessageParser = ({ timeoutMs = 5000, maxOldSpaceMb = 256 } = {}): MessageParser =>
  new ParserThread({ timeoutMs, maxOldSpaceMb })
