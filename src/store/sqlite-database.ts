import { Worker } from 'node:worker_threads'
import { SternaError } from '../errors.ts'
import { BusyError, ConflictError, StorageFullError, UniqueError } from './database.ts'
import type { Database, Row, Statement, Value, Written } from './database.ts'
import { StatementNumbers } from './statement-numbers.ts'
import { openId } from './thread-messages.ts'
import type { Answer, Request, Requests, ThreadData, ThreadError } from './thread-messages.ts'

/** How long a patient batch waits for company, ms. */
const patienceMs = 20

type Unnumbered<T> = T extends { id: number } ? Omit<T, 'id'> : never
type Settled = { resolve: (answer: Answer) => void; reject: (error: Error) => void }

/** One store thread as seen from the main thread; requests of one turn of the event loop travel together. */
class StoreThread {
  readonly opened: Promise<void>
  readonly statements = new StatementNumbers()
  readonly #worker: Worker
  readonly #settle = new Map<number, Settled>()
  readonly #onFatal: (error: Error) => void
  #outgoing: Request[] = []
  #patient: Request[] = []
  #patience: NodeJS.Timeout | undefined
  #scheduled = false
  #lastId = openId
  #ended: Error | undefined

  constructor(data: ThreadData, onFatal: (error: Error) => void) {
    this.#onFatal = onFatal
    this.#worker = new Worker(new URL('./sqlite-thread.ts', import.meta.url), { workerData: data })
    this.opened = new Promise((resolve, reject) => this.#settle.set(openId, { resolve: () => resolve(), reject }))
    this.#worker.on('message', (answers: Answer[]) => answers.forEach((answer) => this.#answered(answer)))
    this.#worker.on('error', (error: Error) => this.#die(error))
    this.#worker.on('exit', () => this.#end(new Error('the store is closed')))
  }

  request(request: Unnumbered<Request>, patient = false): Promise<Answer> {
    if (this.#ended) return Promise.reject(this.#ended)
    const id = ++this.#lastId
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    this.#settle.set(id, { resolve, reject })
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
    if (!('error' in answer)) return settle?.resolve(answer)
    settle?.reject(errorOf(answer.error))
    if (answer.error.kind === 'fatal' && answer.id !== openId) this.#die(errorOf(answer.error))
  }

  #die(error: Error): void {
    if (this.#ended) return
    this.#end(error)
    this.#onFatal(error)
  }

  #end(error: Error): void {
    this.#ended ??= error
    clearTimeout(this.#patience)
    for (const { reject } of this.#settle.values()) reject(this.#ended)
    this.#settle.clear()
  }
}

function errorOf({ kind, message, statement }: ThreadError): Error {
  switch (kind) {
    case 'conflict':
      return new ConflictError(statement)
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

interface DatabaseOptions {
  directory: string
  /** How long a lock of another process is waited for, ms; 5 s unless given. */
  busyTimeoutMs?: number | undefined
  onFatal?: (error: Error) => void
}

/**
 * Opens the embedded database in `directory`, making it where there is none, and brings its schema up to date.
 * `onFatal` is called once when the database can no longer be trusted (I/O error, corruption): the process must end,
 * and what is acknowledged is found again at the next start.
 * @throws SternaError `configuration` where another process holds the directory or a newer version wrote it
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { directory, busyTimeoutMs, onFatal = () => {} } = options
  const writer = new StoreThread({ directory, role: 'writer', busyTimeoutMs }, onFatal)
  await writer.opened
  // Its own thread costs memory, and a relay that is only sent to by SMTP may never be asked for a list.
  let reader: StoreThread | undefined
  const openReader = async (): Promise<StoreThread> => {
    reader ??= new StoreThread({ directory, role: 'reader' }, onFatal)
    await reader.opened
    return reader
  }
  const rowsFrom = async <R extends Row>(thread: StoreThread, sql: string, params: Record<string, Value>): Promise<R[]> => {
    const answer = await thread.request({ type: 'read', statement: thread.statements.numbered({ sql, params }) })
    return ('rows' in answer ? answer.rows : []) as R[]
  }
  return {
    read: (sql, params = {}) => rowsFrom(writer, sql, params),
    report: async (sql, params = {}) => rowsFrom(await openReader(), sql, params),
    async write(batch: Statement[], { patient = false } = {}): Promise<Written[]> {
      const answer = await writer.request({ type: 'write', batch: batch.map((each) => writer.statements.numbered(each)) }, patient)
      return 'written' in answer ? answer.written : []
    },
    async backup(file) {
      await writer.request({ type: 'backup', file })
    },
    async close() {
      await reader?.request({ type: 'close' })
      await writer.request({ type: 'close' })
    },
  }
}
