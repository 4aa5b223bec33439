import type { ChildProcess } from 'node:child_process'
import { SternaError } from './errors.ts'
import { cpuTimeOf } from './process-cpu-time.ts'
import { startChild } from './program.ts'
import { inPieces, type ReaderAnswer, type ReaderRequest } from './untrusted-reader-child.ts'

interface UntrustedReaderOptions {
  /** The child's module, `new URL('./x.ts', import.meta.url)`. It calls `readUntrusted` and nothing else. */
  child: URL
  /**
   * Per document, from its first byte to the end of its answer, in CPU time of the child, so that no document is refused because the
   * machine is busy. If the system does not report CPU time, elapsed time counts.
   */
  timeoutMs: number
  /** The limit of the child's JavaScript heap. Buffers are extra, so the size of documents must be limited, too. */
  maxOldSpaceMb: number
}

/** The result for a document. */
interface Reading<Answer> {
  answer: Answer
  /** What the child sent before its answer, in order. */
  pieces: Uint8Array[]
}

/** Loads a document, in one or more pieces; none if it does not exist. */
export type Load = () => Promise<Uint8Array[]>

interface Job<Request, Answer> {
  load: Load
  request: Request
  pieces: Uint8Array[]
  resolve: (reading: Reading<Answer> | null) => void
  reject: (error: unknown) => void
}

/** An idle child holds 50 MB; starting one takes a tenth of a second. */
const idleMs = 30_000

/** Elapsed time may be this many times the limit on CPU time. */
const maxBusy = 4

/** ms; a child that is not ready by then never will be, however busy the machine is */
const startMs = 15_000

const invalid = (message: string): SternaError => new SternaError('invalid_message', message)
const stopping = (): SternaError => new SternaError('service_unavailable', 'The server is stopping; try again.')
const notStarted = (): SternaError =>
  new SternaError('service_unavailable', 'The process that reads untrusted documents could not be started; try again.')

/**
 * The reading process was killed from outside: by the kernel for lack of memory, or by an operator. That says little about the document.
 */
export class ReaderKilledError extends SternaError {
  constructor(signal: string) {
    super('service_unavailable', `The process that read it was killed from outside (${signal}); try again.`)
    this.name = 'ReaderKilledError'
  }
}

/** Signals that mean the document crashed the process or exhausted its memory. */
const ownSignals = new Set(['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGSYS', 'SIGTRAP'])

const endedBy = (signal: NodeJS.Signals | null): SternaError =>
  signal === null || ownSignals.has(signal)
    ? invalid('It needs more memory than allowed, or crashed the process that read it.')
    : new ReaderKilledError(signal)

/**
 * Reads untrusted documents in a child process, one at a time, so that exceeding a limit is always the fault of the current document. Then
 * the child is killed, and the next document gets a new one. A worker thread would not do: if it exceeds its memory limit, Node sometimes
 * aborts the whole process.
 *
 * Starts the child with the first document. `Request` and `Answer` go to another process, so they must be structured-cloneable. The answer
 * is copied on this thread, so the child must keep it small or send it in pieces.
 */
export class UntrustedReader<Request, Answer> {
  readonly #options: UntrustedReaderOptions
  readonly #waiting: Job<Request, Answer>[] = []
  #current: Job<Request, Answer> | null = null
  #child: ChildProcess | null = null
  /** True once the child is ready. Until then its startup takes the time, not the document. */
  #isReady = false
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: UntrustedReaderOptions) {
    this.#options = options
  }

  /**
   * Reads a document; null if `load` returns no pieces. Rejects with `invalid_message` if it is unreadable or exceeds the limits of time
   * and memory; with `service_unavailable` if no child can be started, the child was killed from outside, or the reader is stopped; and
   * with the error that `load` rejects with.
   * @param load called when it is the document's turn, so that waiting documents take no memory
   */
  read(load: Load, request: Request): Promise<Reading<Answer> | null> {
    if (this.#isStopped) return Promise.reject(stopping())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ load, request, pieces: [], resolve, reject })
      this.#next()
    })
  }

  /** Ends the child. Rejects what is waiting with `service_unavailable`. */
  async stop(): Promise<void> {
    this.#isStopped = true
    const left = this.#waiting.splice(0)
    this.#end(stopping())
    for (const job of left) job.reject(stopping())
  }

  #next(): void {
    if (this.#current || this.#isStopped) return
    clearTimeout(this.#timer)
    const job = this.#waiting.shift()
    if (!job) {
      this.#timer = setTimeout(() => this.#end(null), idleMs).unref()
      return
    }
    this.#current = job
    job.load().then(
      (pieces) => this.#begin(job, pieces),
      (error: unknown) => this.#drop(job, () => job.reject(error)),
    )
  }

  #begin(job: Job<Request, Answer>, pieces: Uint8Array[]): void {
    if (pieces.length === 0) return this.#drop(job, () => job.resolve(null))
    if (job !== this.#current) return
    const child = (this.#child ??= this.#start())
    if (this.#isReady) this.#limit(child)
    this.#send(child, [...pieces.flatMap(inPieces), { request: job.request }], 0)
  }

  /** Starts the time limit of the current document. */
  #limit(child: ChildProcess): void {
    const { timeoutMs } = this.#options
    const cpuBefore = cpuTimeOf(child.pid ?? 0)
    // Counts ticks instead of reading a clock: if this process was held up, an unread answer may be waiting.
    let passedMs = 0
    const checkIn = (waitMs: number): void => {
      this.#timer = setTimeout(() => {
        passedMs += waitMs
        const cpuNow = cpuTimeOf(child.pid ?? 0)
        const ranMs = cpuBefore === null || cpuNow === null ? passedMs : cpuNow - cpuBefore
        const leftMs = Math.min(timeoutMs - ranMs, maxBusy * timeoutMs - passedMs)
        if (leftMs > 0) checkIn(leftMs)
        else this.#fail(child, invalid(`It could not be read within ${timeoutMs} ms.`))
      }, waitMs)
    }
    clearTimeout(this.#timer)
    checkIn(timeoutMs)
  }

  /** Sends one piece after the other, because each is copied here first; the request comes last. */
  #send(child: ChildProcess, pieces: (Uint8Array | ReaderRequest<Request>)[], place: number): void {
    const piece = pieces[place]
    if (child !== this.#child || piece === undefined) return
    // Shared memory cannot be sent to another process.
    const isShared = piece instanceof Uint8Array && piece.buffer instanceof SharedArrayBuffer
    child.send(isShared ? new Uint8Array(piece) : piece, (error) => {
      // A child that accepts no more has exited, which is handled there, or hits its time limit.
      if (!error) this.#send(child, pieces, place + 1)
    })
  }

  /** Drops a job of which the child has seen nothing. */
  #drop(job: Job<Request, Answer>, settle: () => void): void {
    settle()
    if (job !== this.#current) return
    this.#current = null
    this.#next()
  }

  #start(): ChildProcess {
    const flags = ['--max-semi-space-size=4', `--max-old-space-size=${this.#options.maxOldSpaceMb}`]
    const child = startChild(this.#options.child, flags, {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      // It reads strangers' data, so it gets no secrets. Freed memory returns to the system at once (glibc).
      env: {
        MALLOC_ARENA_MAX: '1',
        MALLOC_TRIM_THRESHOLD_: '131072',
        MALLOC_MMAP_THRESHOLD_: '131072',
        // With a compile cache it starts in half the time.
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      },
    })
    // An idle child does not keep the server running. A document in hand does, through its timer.
    child.unref()
    child.channel?.unref()
    child.on('message', (answer: ReaderAnswer<Answer>) => this.#settle(child, answer))
    child.on('error', () => this.#fail(child, notStarted()))
    child.on('exit', (_, signal) => this.#fail(child, this.#isReady ? endedBy(signal) : notStarted()))
    this.#isReady = false
    this.#timer = setTimeout(() => this.#fail(child, notStarted()), startMs)
    return child
  }

  #settle(child: ChildProcess, answer: ReaderAnswer<Answer>): void {
    if (child !== this.#child) return
    if ('ready' in answer) {
      this.#isReady = true
      return this.#limit(child)
    }
    const job = this.#current
    if ('piece' in answer) return void job?.pieces.push(answer.piece)
    this.#current = null
    if ('answer' in answer) job?.resolve({ answer: answer.answer, pieces: job.pieces })
    else job?.reject(invalid(`It cannot be read: ${answer.fault}`))
    this.#next()
  }

  /** Refuses the current document. The next one gets a new child. */
  #fail(child: ChildProcess, error: SternaError): void {
    if (child !== this.#child) return
    this.#end(error)
    this.#next()
  }

  #end(error: SternaError | null): void {
    clearTimeout(this.#timer)
    this.#child?.kill('SIGKILL')
    this.#child = null
    const job = this.#current
    this.#current = null
    if (error) job?.reject(error)
  }
}
