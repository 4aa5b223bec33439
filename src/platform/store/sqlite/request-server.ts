import { crc32 } from 'node:zlib'
import { messageOf } from '../../errors.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import { noteShared, sharedBytes } from '../../shared-memory.ts'
import type { Row, Value } from '../database.ts'
import type { FileUpkeep } from './file-upkeep.ts'
import { GroupCommit, isOfAll, ofRead, ofWrite, threadErrorOf, type BatchResult } from './group-commit.ts'
import { markCopy } from './mark-copy.ts'
import { PreparedStatements } from './prepared-statements.ts'
import type { Connection } from './sqlite-connection.ts'
import type { Answer, NumberedStatement, Request, Requests, ThreadError } from '../thread-messages.ts'

type Write = Extract<Request, { type: 'write' }>

interface RequestServerServices {
  send(answers: Answer[]): void
  /** Called for the request to close, before its answer. */
  close(): void
  /** Null where the connection only reads. */
  upkeep: FileUpkeep | null
  metrics: Pick<Metrics, 'commits' | 'commitBatches' | 'failedCommits'>
}

/** Limits the batches of one commit, so that one commit never holds up the others for long. */
const groupSize = 256
/** Larger values leave in shared memory, which is not copied again on its way to the delivery thread. */
const shareFrom = 1024

/** Executes the requests to a store thread: it commits what has accumulated since its last commit as one group, then reads. */
export class RequestServer {
  readonly #connection: Connection
  readonly #statements: PreparedStatements
  readonly #group: GroupCommit
  readonly #send: (answers: Answer[]) => void
  readonly #close: () => void
  readonly #upkeep: FileUpkeep | null
  readonly #metrics: RequestServerServices['metrics']
  #waiting: Request[] = []

  constructor(connection: Connection, { send, close, upkeep, metrics }: RequestServerServices) {
    this.#connection = connection
    this.#statements = new PreparedStatements(connection)
    this.#group = new GroupCommit(connection, this.#statements)
    this.#send = send
    this.#close = close
    this.#upkeep = upkeep
    this.#metrics = metrics
  }

  take({ texts, requests }: Requests): void {
    this.#statements.learn(texts)
    if (this.#waiting.length === 0) setImmediate(() => this.#run())
    this.#waiting.push(...requests)
  }

  #run(): void {
    const requests = this.#waiting
    this.#waiting = []
    const writes = requests.filter((request) => request.type === 'write')
    for (let i = 0; i < writes.length; i += groupSize) this.#send(this.#write(writes.slice(i, i + groupSize)))
    if (writes.length > 0) this.#upkeep?.noteCommits()
    const answers = requests.flatMap((request) => (request.type === 'write' ? [] : this.#answer(request)))
    if (answers.length > 0) this.#send(answers)
  }

  #write(writes: Write[]): Answer[] {
    for (const { batch } of writes) noteBlobs(batch)
    const startedAt = performance.now()
    const results = this.#group.commit(writes.map(({ batch }) => batch))
    this.#count(results, performance.now() - startedAt)
    return writes.map(({ id, isTimed }, place) => {
      const result = results[place] as (typeof results)[number]
      return 'error' in result || isTimed ? { id, ...result } : { id, written: result.written }
    })
  }

  #count(results: BatchResult[], ms: number): void {
    const [first] = results
    if (first && 'error' in first && isOfAll(first.error)) return this.#metrics.failedCommits.add()
    this.#metrics.commits.observe(ms / 1000)
    this.#metrics.commitBatches.observe(results.length)
  }

  /** The answer; none if it follows later. */
  #answer(request: Exclude<Request, Write>): Answer[] {
    const { id } = request
    try {
      switch (request.type) {
        case 'read':
          return [{ id, rows: this.#read(request.statement).map(shareBlobs) }]
        case 'backup':
          void this.#copy(id, request)
          return []
        case 'begin-copy':
          this.#upkeep?.beginCopy(request.generation)
          return [{ id, done: true }]
        case 'upkeep':
          return [{ id, is: this.#upkeep?.do(request.task) ?? false }]
        case 'overwrite':
          return [{ id, next: this.#upkeep?.overwriteUnused(request.from) ?? null }]
        case 'close':
          this.#close()
          return [{ id, done: true }]
      }
    } catch (error) {
      // The file's upkeep writes and names no table.
      return [{ id, error: threadErrorOf(ofWrite(error, ''), 0) }]
    }
  }

  #read([number, values]: NumberedStatement): Row[] {
    try {
      const rows = this.#statements.at(number).all(values)
      for (const row of rows) requireIntact(row)
      return rows
    } catch (error) {
      throw ofRead(error, this.#statements.textOf(number))
    }
  }

  async #copy(id: number, { file, isMarked }: { file: string; isMarked: boolean }): Promise<void> {
    try {
      const copiedAt = Date.now()
      await this.#group.spareCopy(this.#connection.backup(file))
      if (isMarked) markCopy(file, copiedAt)
      this.#send([{ id, done: true }])
    } catch (error) {
      this.#send([{ id, error: backupErrorOf(error, file) }])
    }
  }
}

/** This failed while writing the copy: it says nothing about the database, which must continue. */
const backupErrorOf = (error: unknown, file: string): ThreadError => ({
  kind: 'configuration',
  message: `The backup cannot be written to ${file}: ${messageOf(error)}.`,
  statement: 0,
})

function noteBlobs(batch: NumberedStatement[]): void {
  for (const [, values] of batch) {
    for (const value of values) {
      if (value instanceof Uint8Array) noteShared(value.length)
    }
  }
}

/** Only for rows that have a checksum. */
function requireIntact({ bytes, crc32: stored }: Row): void {
  if (typeof stored !== 'number' || !(bytes instanceof Uint8Array)) return
  if (crc32(bytes) !== stored) throw Object.assign(new Error('its checksum does not match'), { code: 'SQLITE_CORRUPT' })
}

function shareBlobs(row: Row): Row {
  for (const name in row) {
    const value = row[name] as Value
    if (value instanceof Uint8Array && value.length >= shareFrom) {
      const shared = sharedBytes(value.length)
      shared.set(value)
      row[name] = shared
    }
  }
  return row
}
