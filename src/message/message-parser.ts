import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { SternaError } from '../errors.ts'

export interface ParsedMessage {
  /** As it came: hostile. */
  html: string | null
  text: string | null
  attachments: ParsedAttachment[]
  /** Names in lower case, values unfolded and decoded, in their order. */
  headers: { name: string; value: string }[]
}

export interface ParsedAttachment {
  filename: string | null
  contentType: string
  /** Whether it is meant to be shown within the text. */
  disposition: 'attachment' | 'inline'
  /** bytes, decoded */
  size: number
  /** Without angle brackets. */
  contentId: string | null
}

/** Ends the pieces of a message: what is wanted of it, all but the attachments or one attachment by its place. */
export type ParserRequest = { attachment: number | null }

/** The content of an attachment comes in pieces, then `end`; `found` tells whether there is one at that place. */
export type ParserAnswer = { message: ParsedMessage } | { piece: Uint8Array } | { end: { found: boolean } } | { fault: string }

export interface MessageParser {
  /**
   * Reads a MIME message that nobody has vouched for; null where there are no bytes of it. Rejects with
   * `invalid_message` where it cannot be read within the limits of time and memory; messages that wait behind it are
   * not affected.
   * @param load gives the message in pieces; called when it is its turn, so that what waits takes no memory
   */
  parse(load: () => Promise<Uint8Array[]>): Promise<ParsedMessage | null>
  /** The same for the content of the attachment that stands at this place in `attachments`; null where there is none. */
  attachment(load: () => Promise<Uint8Array[]>, place: number): Promise<Uint8Array[] | null>
  /** Ends the parser; what waits is rejected with `service_unavailable`. */
  stop(): Promise<void>
}

type Load = () => Promise<Uint8Array[]>

interface Job {
  load: Load
  request: ParserRequest
  /** Of an attachment, what has come so far. */
  received: Uint8Array[]
  resolve: (answer: ParsedMessage | Uint8Array[] | null) => void
  reject: (error: unknown) => void
}

interface ParserLimits {
  /** For one message, the start of the parser included. */
  timeoutMs: number
  maxOldSpaceMb: number
}

/** An idle parser holds 50 MB; starting one takes a tenth of a second. */
const idleMs = 30_000

const invalid = (message: string): SternaError => new SternaError('invalid_message', message)
const stopping = (): SternaError => new SternaError('service_unavailable', 'The server is stopping; try again.')

/**
 * One child process that works through one message at a time, so that a limit is always the fault of the message
 * in hand. A worker thread would not do: where one goes beyond its memory, Node now and then aborts the whole process.
 */
class ParserProcess implements MessageParser {
  readonly #limits: ParserLimits
  readonly #waiting: Job[] = []
  #current: Job | null = null
  #child: ChildProcess | null = null
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(limits: ParserLimits) {
    this.#limits = limits
  }

  parse(load: Load): Promise<ParsedMessage | null> {
    return this.#queue(load, { attachment: null }) as Promise<ParsedMessage | null>
  }

  attachment(load: Load, place: number): Promise<Uint8Array[] | null> {
    return this.#queue(load, { attachment: place }) as Promise<Uint8Array[] | null>
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    const left = this.#waiting.splice(0)
    this.#end(stopping())
    for (const job of left) job.reject(stopping())
  }

  #queue(load: Load, request: ParserRequest): Promise<ParsedMessage | Uint8Array[] | null> {
    if (this.#isStopped) return Promise.reject(stopping())
    return new Promise((resolve, reject) => {
      this.#waiting.push({ load, request, received: [], resolve, reject })
      this.#next()
    })
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

  #begin(job: Job, pieces: Uint8Array[]): void {
    if (pieces.length === 0) return this.#drop(job, () => job.resolve(null))
    if (job !== this.#current) return
    const child = (this.#child ??= this.#start())
    this.#timer = setTimeout(() => {
      this.#fail(child, `The message could not be read within ${this.#limits.timeoutMs} ms.`)
    }, this.#limits.timeoutMs)
    this.#send(child, [...pieces, job.request], 0)
  }

  /** One piece after the other, since each is copied here before it leaves; the request ends them. */
  #send(child: ChildProcess, pieces: (Uint8Array | ParserRequest)[], place: number): void {
    const piece = pieces[place]
    if (child !== this.#child || piece === undefined) return
    // Shared memory cannot be sent to another process.
    const isShared = piece instanceof Uint8Array && piece.buffer instanceof SharedArrayBuffer
    child.send(isShared ? new Uint8Array(piece) : piece, (error) => {
      if (error) this.#fail(child, 'The parser could not be reached.')
      else this.#send(child, pieces, place + 1)
    })
  }

  /** Ends a job that the child has seen nothing of. */
  #drop(job: Job, settle: () => void): void {
    settle()
    if (job !== this.#current) return
    this.#current = null
    this.#next()
  }

  #start(): ChildProcess {
    const child = fork(fileURLToPath(new URL('./parser-process.ts', import.meta.url)), {
      execArgv: [`--max-old-space-size=${this.#limits.maxOldSpaceMb}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      // It reads what strangers wrote, so it is given no secrets.
      env: {},
    })
    // An idle parser does not keep the server running; a message in hand does so by its timer.
    child.unref()
    child.channel?.unref()
    child.on('message', (answer: ParserAnswer) => this.#settle(child, answer))
    child.on('error', () => this.#fail(child, 'The parser could not be started.'))
    child.on('exit', () => this.#fail(child, 'The message needs more memory than allowed, or broke the parser.'))
    return child
  }

  #settle(child: ChildProcess, answer: ParserAnswer): void {
    if (child !== this.#child) return
    const job = this.#current
    if ('piece' in answer) return void job?.received.push(answer.piece)
    this.#current = null
    if ('message' in answer) job?.resolve(answer.message)
    else if ('end' in answer) job?.resolve(answer.end.found ? job.received : null)
    else job?.reject(invalid(`The message cannot be read: ${answer.fault}`))
    this.#next()
  }

  #fail(child: ChildProcess, fault: string): void {
    if (child !== this.#child) return
    this.#end(invalid(fault))
    this.#next()
  }

  /** Ends the child; the message in hand is refused, the next one gets a new child. */
  #end(error: SternaError | null): void {
    clearTimeout(this.#timer)
    this.#child?.kill('SIGKILL')
    this.#child = null
    const job = this.#current
    this.#current = null
    if (error) job?.reject(error)
  }
}

/** Starts nothing until the first message comes. */
export const startMessageParser = ({ timeoutMs = 5000, maxOldSpaceMb = 256 } = {}): MessageParser =>
  new ParserProcess({ timeoutMs, maxOldSpaceMb })
