import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { SternaError } from './errors.ts'
import { cpuTimeOf } from './process-cpu-time.ts'
import { inPieces, type ReaderAnswer, type ReaderRequest } from './untrusted-reader-child.ts'

interface UntrustedReaderOptions {
  /** The module the child runs, `new URL('./x.ts', import.meta.url)`; it calls `readUntrusted` and nothing else. */
  child: URL
  /**
   * For one document, from its first byte to the end of its answer: time that the child was running, so that no document is
   * refused because the machine was busy with something else. Where the system does not tell that, all time counts.
   */
  timeoutMs: number
  /** Of the child's heap of JavaScript values; buffers come on top, so the size of documents must be bounded too. */
  maxOldSpaceMb: number
}

/** What the child made of a document. */
interface Reading<Answer> {
  answer: Answer
  /** What the child sent before its answer, in order. */
  pieces: Uint8Array[]
}

/** Gives a document, in one piece or as many as it is kept in; none where there is no such document. */
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

/** How many times longer it may take than the child may be running. */
const mostBusy = 4

/** A child that is not ready by then never will be, however busy the machine is. */
const startMs = 15_000

const invalid = (message: string): SternaError => new SternaError('invalid_message', message)
const stopping = (): SternaError => new SternaError('service_unavailable', 'The server is stopping; try again.')
const notStarted = (): SternaError =>
  new SternaError('service_unavailable', 'The process that reads untrusted documents could not be started; try again.')

/** Somebody else has ended the process that was reading: the kernel for want of memory, or an operator. That says little of the document. */
export class ReaderKilledError extends SternaError {
  constructor(signal: string) {
    super('service_unavailable', `The process that read it was ended from outside (${signal}); try again.`)
    this.name = 'ReaderKilledError'
  }
}

/** What a process does to itself, or is done to it for what it does: a document has broken it, or filled its memory. */
const ownSignals = new Set(['SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGILL', 'SIGSEGV', 'SIGSYS', 'SIGTRAP'])

const endedBy = (signal: NodeJS.Signals | null): SternaError =>
  signal === null || ownSignals.has(signal)
    ? invalid('It needs more memory than allowed, or broke the process that read it.')
    : new ReaderKilledError(signal)

/**
 * Reads documents that nobody has vouched for in one child process, one at a time, so that a limit is always the fault
 * of the document in hand: its child is killed, and the next document gets a new one. A worker thread would not do:
 * where one goes beyond its memory, Node now and then aborts the whole process.
 *
 * Starts nothing until the first document comes. `Request` and `Answer` cross to another process, so they are what
 * structured clone takes. An answer is copied on this thread: the child keeps it small, or sends it in pieces.
 */
export class UntrustedReader<Request, Answer> {
  readonly #options: UntrustedReaderOptions
  readonly #waiting: Job<Request, Answer>[] = []
  #current: Job<Request, Answer> | null = null
  #child: ChildProcess | null = null
  /** True once the child has said so; until then it is its start that takes time, not the document. */
  #isReady = false
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: UntrustedReaderOptions) {
    this.#options = options
  }

  /**
   * What the child makes of a document; null where `load` gives no bytes of it. Rejects with `invalid_message` where
   * it cannot be read, or not within the limits of time and memory; with `service_unavailable` where no child can be
   * started, somebody else has killed it, or the reader is stopped; and with what `load` rejects with.
   * @param load called when it is its turn, so that what waits takes no memory
   */
  read(load: Load, request: Request): Promise<Reading<Answer> | null> {
    if (this.#isStopped) return Promise.reject(stopping())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ load, request, pieces: [], resolve, reject })
      this.#next()
    })
  }

  /** Ends the child; what waits is rejected with `service_unavailable`. */
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

  /** Starts the time of the document in hand. */
  #limit(child: ChildProcess): void {
    const { timeoutMs } = this.#options
    const cpuBefore = cpuTimeOf(child.pid ?? 0)
    // Not by a clock: where this process was held up, an answer may be there that it has not come to read.
    let passedMs = 0
    const checkIn = (waitMs: number): void => {
      this.#timer = setTimeout(() => {
        passedMs += waitMs
        const cpuNow = cpuTimeOf(child.pid ?? 0)
        const ranMs = cpuBefore === null || cpuNow === null ? passedMs : cpuNow - cpuBefore
        const leftMs = Math.min(timeoutMs - ranMs, mostBusy * timeoutMs - passedMs)
        if (leftMs > 0) checkIn(leftMs)
        else this.#fail(child, invalid(`It could not be read within ${timeoutMs} ms.`))
      }, waitMs)
    }
    clearTimeout(this.#timer)
    checkIn(timeoutMs)
  }

  /** One piece after the other, since each is copied here before it leaves; the request ends them. */
  #send(child: ChildProcess, pieces: (Uint8Array | ReaderRequest<Request>)[], place: number): void {
    const piece = pieces[place]
    if (child !== this.#child || piece === undefined) return
    // Shared memory cannot be sent to another process.
    const isShared = piece instanceof Uint8Array && piece.buffer instanceof SharedArrayBuffer
    child.send(isShared ? new Uint8Array(piece) : piece, (error) => {
      // A child that takes no more has ended, and how it did comes with its exit; or its time ends it.
      if (!error) this.#send(child, pieces, place + 1)
    })
  }

  /** Ends a job that the child has seen nothing of. */
  #drop(job: Job<Request, Answer>, settle: () => void): void {
    settle()
    if (job !== this.#current) return
    this.#current = null
    this.#next()
  }

  #start(): ChildProcess {
    const child = fork(fileURLToPath(this.#options.child), {
      execArgv: ['--max-semi-space-size=4', `--max-old-space-size=${this.#options.maxOldSpaceMb}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      // It reads what strangers wrote, so it is given no secrets; what is freed goes back to the system at once (glibc).
      env: {
        MALLOC_ARENA_MAX: '1',
        MALLOC_TRIM_THRESHOLD_: '131072',
        MALLOC_MMAP_THRESHOLD_: '131072',
        // Where compiled code is kept, it starts in half the time.
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      },
    })
    // An idle child does not keep the server running; a document in hand does so by its timer.
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

  /** The document in hand is refused, the next one gets a new child. */
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
