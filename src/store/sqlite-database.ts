import { Worker } from 'node:worker_threads'
import { SternaError } from '../errors.ts'
import {
  BusyError,
  ConflictError,
  StorageFullError,
  UniqueError,
  type Database,
  type Row,
  type Statement,
  type Value,
  type Written,
} from './database.ts'
import { InsertListeners } from './insert-listeners.ts'
import { StatementNumbers } from './statement-numbers.ts'
import { openId, type Answer, type Request, type Requests, type ThreadData, type ThreadError, type UpkeepTask } from './thread-messages.ts'
import { Turns } from './turns.ts'

/** How long a patient batch waits for company, ms. */
const patienceMs = 20

/** Kinds of errors under which nobody's batch is written. */
const unwritten = new Set<ThreadError['kind']>(['full', 'busy', 'unwritten'])

type Unnumbered<T> = T extends { id: number } ? Omit<T, 'id'> : never
type Settled = { resolve: (answer: Answer) => void; reject: (error: Error) => void; batch: Statement[] }

interface Hear {
  /** Called once when the database can no longer be trusted (I/O error, corruption). */
  onFatal?: (error: Error) => void
  /** Called when writing begins to fail for everybody, with the reason, and with null when it succeeds again. */
  onWriting?: (fault: string | null) => void
}

/** One store thread as seen from the main thread; requests of one turn of the event loop travel together. */
class StoreThread {
  readonly opened: Promise<void>
  readonly statements = new StatementNumbers()
  readonly #worker: Worker
  readonly #settle = new Map<number, Settled>()
  readonly #hear: Hear
  #outgoing: Request[] = []
  #patient: Request[] = []
  #patience: NodeJS.Timeout | undefined
  #scheduled = false
  #isOpen = false
  #isWriting = true
  #lastId = openId
  #ended: Error | undefined

  constructor(data: ThreadData, hear: Hear) {
    this.#hear = hear
    this.#worker = new Worker(new URL('./sqlite-thread.ts', import.meta.url), { workerData: data })
    this.opened = new Promise((resolve, reject) => this.#settle.set(openId, { resolve: () => resolve(), reject, batch: [] }))
    void this.opened.then(
      () => (this.#isOpen = true),
      () => {},
    )
    this.#worker.on('message', (answers: Answer[]) => answers.forEach((answer) => this.#answered(answer)))
    this.#worker.on('error', (error: Error) => (this.#isOpen ? this.#die(error) : this.#end(error)))
    this.#worker.on('exit', () => this.#end(new Error('the store is closed')))
  }

  /** @throws ConflictError and the other errors of `Database` */
  write(batch: Statement[], { patient, isTimed }: { patient: boolean; isTimed: boolean }): Promise<Answer> {
    const numbered = batch.map((each) => this.statements.numbered(each))
    return this.request({ type: 'write', batch: numbered, ...(isTimed ? { isTimed } : {}) }, { patient, batch })
  }

  /** `batch`: what a write holds, so that its conflict can be named. */
  request(request: Unnumbered<Request>, { patient = false, batch = [] }: { patient?: boolean; batch?: Statement[] } = {}): Promise<Answer> {
    if (this.#ended) return Promise.reject(this.#ended)
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#settle.set(id, { resolve, reject, batch })
    if (patient) this.#wait({ ...request, id } as Request)
    else this.#post({ ...request, id } as Request)
    return promise
  }

  #wait(request: Request): void {
    this.#patient.push(request)
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
    const requests = this.#patient.concat(this.#outgoing)
    this.#patient = []
    this.#outgoing = []
    if (requests.length === 0) return
    const message: Requests = { texts: this.statements.takeUntold(), requests }
    this.#worker.postMessage(message)
  }

  #answered(answer: Answer): void {
    const settle = this.#settle.get(answer.id)
    this.#settle.delete(answer.id)
    this.#noteWriting(answer)
    if (!('error' in answer)) return settle?.resolve(answer)
    settle?.reject(errorOf(answer.error, settle.batch))
    if (answer.error.kind === 'fatal' && answer.id !== openId) this.#die(errorOf(answer.error))
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

  #end(error: Error): void {
    this.#ended ??= error
    clearTimeout(this.#patience)
    for (const { reject } of this.#settle.values()) reject(this.#ended)
    this.#settle.clear()
  }
}

function errorOf({ kind, message, statement }: ThreadError, batch: Statement[] = []): Error {
  switch (kind) {
    case 'conflict':
      return new ConflictError(batch[statement]?.guard)
    case 'unique':
      return new UniqueError(message)
    case 'full':
      return new StorageFullError()
    case 'busy':
      return new BusyError()
    case 'configuration':
      return new SternaError('configuration', message)
    default:
      return new Error(message)
  }
}

interface DatabaseOptions extends Hear {
  directory: string
  /** How long a lock of another process is waited for, ms; 5 s unless given. */
  busyTimeoutMs?: number | undefined
  /** Where the writer counts its commits; nowhere unless given. */
  sheet?: SharedArrayBuffer | undefined
}

/**
 * Opens the embedded database in `directory`, making it where there is none, and brings its schema up to date.
 * After `onFatal` the process must end, and what is acknowledged is found again at the next start.
 * @throws SternaError `configuration` where another process holds the directory, a newer version wrote it, or its database is gone
 */
export async function openDatabase({ directory, busyTimeoutMs, sheet, ...hear }: DatabaseOptions): Promise<Database> {
  const writer = new StoreThread({ directory, role: 'writer', busyTimeoutMs, sheet }, hear)
  await writer.opened
  // Started by the first report, because a command may need none; a server asks for one before its doors open.
  let reader: StoreThread | undefined
  const openReader = async (): Promise<StoreThread> => {
    const starting = (reader ??= new StoreThread({ directory, role: 'reader' }, hear))
    try {
      await starting.opened
    } catch (error) {
      // What kept it from starting, such as a want of file descriptors, may be over at the next report.
      if (reader === starting) reader = undefined
      throw error
    }
    return starting
  }
  const rowsFrom = async <R extends Row>(thread: StoreThread, sql: string, params: Record<string, Value>): Promise<R[]> => {
    const answer = await thread.request({ type: 'read', statement: thread.statements.numbered({ sql, params }) })
    return ('rows' in answer ? answer.rows : []) as R[]
  }
  const upkeep = async (task: UpkeepTask): Promise<boolean> => {
    const answer = await writer.request({ type: 'upkeep', task })
    return 'is' in answer && answer.is
  }
  const turns = new Turns()
  const listeners = new InsertListeners()
  return {
    read: (sql, params = {}) => rowsFrom(writer, sql, params),
    report<R extends Row>(sql: string, params: Record<string, Value> = {}) {
      const ask = async (): Promise<R[]> => rowsFrom<R>(await openReader(), sql, params)
      const owner = params['accountId'] ?? params['webhookId']
      return typeof owner === 'string' ? turns.take(owner, ask) : ask()
    },
    async write(batch: Statement[], { patient = false, onHeld } = {}): Promise<Written[]> {
      const answer = await writer.write(batch, { patient, isTimed: onHeld !== undefined })
      if (!('written' in answer)) return []
      if (answer.ms !== undefined) onHeld?.(answer.ms)
      listeners.tell(batch)
      return answer.written
    },
    onInsert: (table, heard) => listeners.add(table, heard),
    async backup(file) {
      await writer.request({ type: 'backup', file })
    },
    upkeep: {
      shrink: () => upkeep('shrink'),
      emptyLog: () => upkeep('empty-log'),
      needsRewriting: () => upkeep('needs-rewriting'),
      async overwriteUnused(from) {
        const answer = await writer.request({ type: 'overwrite', from })
        return 'next' in answer ? answer.next : null
      },
    },
    async close() {
      await reader?.request({ type: 'close' })
      await writer.request({ type: 'close' })
    },
  }
}
