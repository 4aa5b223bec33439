import type { Worker } from 'node:worker_threads'
import { SternaError } from '../errors.ts'
import {
  BusyError,
  ClosedError,
  ConflictError,
  DamagedError,
  StorageFullError,
  StorageUnavailableError,
  UniqueError,
  type Guard,
  type Row,
  type Statement,
  type Value,
} from './database.ts'
import { BuriedError } from './nodes.ts'
import { silentMs } from './silence.ts'
import { StatementNumbers, type StatementForm } from './statement-numbers.ts'
import type { Upgrade } from './store.ts'
import { openId, type Answer, type Request, type Requests, type ThreadError } from './thread-messages.ts'

/** How long a batch that may be batched waits for others, ms. */
const patienceMs = 20

/** Errors after which nobody's batch is written. */
const unwritten = new Set<ThreadError['kind']>(['full', 'busy', 'unavailable', 'unwritten'])

/** Errors after which the process must end. */
const final = new Set<ThreadError['kind']>(['fatal', 'buried'])

type Unnumbered<T> = T extends { id: number } ? Omit<T, 'id'> : never
/** Keeps the guards of a batch, not its statements: content on its way to the disk need not be held on this side too. */
type Guards = (Guard | undefined)[]
type Settled = { resolve: (answer: Answer) => void; reject: (error: Error) => void; guards: Guards }

const guardOf = ({ guard }: Statement): Guard | undefined => guard
const atOnce = { mayBatch: false, guards: [] }

export interface Hear {
  /**
   * Called once when the database can no longer be trusted (a failed write or flush), its writer has ended, or with a `BuriedError` when other
   * nodes do the work of this one.
   */
  onFatal?: (error: Error) => void
  /** Called whenever a statement meets damage. */
  onDamage?: (error: DamagedError) => void
  /** Called when a reader has ended by itself: the next slow read starts another. */
  onReaderLost?: (error: Error) => void
  /** Called with the reason when writing begins to fail for everybody, and with null when it works again. */
  onWriting?: (fault: string | null) => void
  /** Called before the schema of an existing database changes. */
  onUpgrade?: (upgrade: Upgrade) => void
}

/** What an engine says of a thread of its own. */
export interface EngineThread {
  role: 'writer' | 'reader'
  start(): Worker
  /** What it takes for a statement. */
  formOf: StatementForm
}

/** One store thread as the main thread sees it; requests of one turn of the event loop travel together. */
export class StoreThread {
  readonly opened: Promise<void>
  readonly #statements: StatementNumbers
  readonly #worker: Worker
  readonly #settle = new Map<number, Settled>()
  readonly #hear: Hear
  readonly #role: EngineThread['role']
  #outgoing: Request[] = []
  #batched: Request[] = []
  #patience: NodeJS.Timeout | undefined
  #scheduled = false
  #isOpen = false
  #isClosing = false
  #isWriting = true
  #lastId = openId
  #ended: Error | undefined

  constructor({ role, start, formOf }: EngineThread, hear: Hear) {
    this.#hear = hear
    this.#role = role
    this.#statements = new StatementNumbers(formOf)
    this.#worker = start()
    this.opened = new Promise((resolve, reject) => this.#settle.set(openId, { resolve: () => resolve(), reject, guards: [] }))
    void this.opened.then(
      () => (this.#isOpen = true),
      () => {},
    )
    this.#worker.on('message', (answers: Answer[]) => answers.forEach((answer) => this.#answered(answer)))
    this.#worker.on('error', (error: Error) => this.#lost(error))
    this.#worker.on('exit', () => this.#lost(new Error(`the ${this.#role} thread of the store has ended`)))
  }

  /** True once it takes no more requests. */
  get hasEnded(): boolean {
    return this.#ended !== undefined
  }

  /** @throws ConflictError and the other errors of `Database` */
  write(
    batch: Statement[],
    { mayBatch, ...more }: { mayBatch: boolean; isTimed: boolean; locks?: string[]; as?: string | null },
  ): Promise<Answer> {
    const numbered = batch.map((each) => this.#statements.numbered(each))
    return this.#ask({ id: ++this.#lastId, type: 'write', batch: numbered, ...more }, { mayBatch, guards: batch.map(guardOf) })
  }

  async read<R extends Row>(sql: string, params: Record<string, Value>, more: { isSlow?: true } = {}): Promise<R[]> {
    const answer = await this.#ask({ id: ++this.#lastId, type: 'read', statement: this.#statements.numbered({ sql, params }), ...more })
    return ('rows' in answer ? answer.rows : []) as R[]
  }

  request(request: Unnumbered<Request>): Promise<Answer> {
    if (request.type === 'close') this.#isClosing = true
    return this.#ask({ ...request, id: ++this.#lastId } as Request, atOnce)
  }

  /** `guards`: those of a write, by statement, so that its conflict can be named. */
  #ask(request: Request, { mayBatch, guards }: { mayBatch: boolean; guards: Guards } = atOnce): Promise<Answer> {
    if (this.#ended) return Promise.reject(this.#ended)
    if (this.#isClosing && request.type !== 'close') return Promise.reject(new ClosedError())
    return new Promise((resolve, reject) => {
      this.#settle.set(request.id, { resolve, reject, guards })
      if (mayBatch) this.#wait(request)
      else this.#post(request)
    })
  }

  #wait(request: Request): void {
    this.#batched.push(request)
    this.#patience ??= setTimeout(() => this.#flush(), patienceMs)
  }

  #post(request: Request): void {
    this.#outgoing.push(request)
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    clearTimeout(this.#patience)
    this.#patience = undefined
    const requests = this.#batched.concat(this.#outgoing)
    this.#batched = []
    this.#outgoing = []
    if (requests.length === 0) return
    const message: Requests = { texts: this.#statements.takeUntold(), requests }
    this.#worker.postMessage(message)
  }

  #answered(answer: Answer): void {
    if ('upgrade' in answer) return this.#hear.onUpgrade?.(answer.upgrade)
    const settle = this.#settle.get(answer.id)
    this.#settle.delete(answer.id)
    this.#noteWriting(answer)
    if (!('error' in answer)) return settle?.resolve(answer)
    const error = errorOf(answer.error, settle?.guards)
    if (error instanceof DamagedError) this.#hear.onDamage?.(error)
    settle?.reject(error)
    if (final.has(answer.error.kind) && answer.id !== openId) this.#die(error)
  }

  #noteWriting(answer: Answer): void {
    const fault = 'error' in answer && unwritten.has(answer.error.kind) ? answer.error.message : null
    if (answer.id === openId || (fault === null && !('written' in answer))) return
    if (this.#isWriting === (fault === null)) return
    this.#isWriting = fault === null
    this.#hear.onWriting?.(fault)
  }

  #die(error: Error): void {
    if (this.#ended) return
    this.#end(error)
    this.#hear.onFatal?.(error)
  }

  /** A thread that ends unasked has failed, with or without an error. */
  #lost(error: Error): void {
    if (this.#isClosing) return this.#end(new ClosedError())
    if (!this.#isOpen) return this.#end(error)
    if (this.#role === 'writer') return this.#die(error)
    if (!this.#ended) this.#hear.onReaderLost?.(error)
    this.#end(error)
  }

  #end(error: Error): void {
    this.#ended ??= error
    clearTimeout(this.#patience)
    for (const { reject } of this.#settle.values()) reject(this.#ended)
    this.#settle.clear()
  }
}

function errorOf({ kind, message, statement, damage }: ThreadError, guards: Guards = []): Error {
  switch (kind) {
    case 'conflict':
      return new ConflictError(guards[statement])
    case 'unique':
      return new UniqueError(message)
    case 'full':
      return new StorageFullError()
    case 'busy':
      return new BusyError()
    case 'unavailable':
      return new StorageUnavailableError(message)
    case 'damaged':
      return new DamagedError(message, { tables: [], keepsOut: false, ...damage, statement })
    case 'buried':
      return new BuriedError(message, silentMs)
    case 'configuration':
      return new SternaError('configuration', message)
    default:
      return new Error(message)
  }
}
