import { once } from 'node:events'
import type { Connection, Submittable } from 'pg'
import { RowGatherer, type RowPiece } from '../row-codec.ts'
import type { PostgresConnection } from './postgres-connection.ts'

/** What a binary COPY begins with: its signature, no flags, no extension. */
const header = Buffer.concat([Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1'), Buffer.alloc(8)])
const trailer = Buffer.from([0xff, 0xff])
/** Rows that wait to be taken, bytes; while there are more, the server waits. */
const maxWaiting = 1024 * 1024

/** Fills a table by `copy … from stdin (format binary)`. @throws what the server says */
export async function copyIn(connection: PostgresConnection, sql: string, rows: AsyncIterable<RowPiece>): Promise<void> {
  const copy = new CopyIn(sql)
  connection.submit(copy)
  const server = await copy.begun
  try {
    await sendPiece(server, header)
    for await (const { bytes } of rows) if (bytes.length > 0) await Promise.race([sendPiece(server, bytes), copy.ended])
    await sendPiece(server, trailer)
    server.endCopyFrom()
  } catch (error) {
    server.sendCopyFail('the rows could not be read')
    await copy.ended.catch(() => {})
    throw error
  }
  await copy.ended
}

async function sendPiece(server: Connection, bytes: Buffer): Promise<void> {
  server.sendCopyFromChunk(bytes)
  if (server.stream.writableNeedDrain) await once(server.stream, 'drain')
}

class CopyIn implements Submittable {
  readonly #sql: string
  readonly #begun = Promise.withResolvers<Connection>()
  readonly #ended = Promise.withResolvers<void>()
  readonly begun = this.#begun.promise
  readonly ended = this.#ended.promise

  constructor(sql: string) {
    this.#sql = sql
    // Whoever waits hears of it: not all wait for both.
    this.begun.catch(() => {})
    this.ended.catch(() => {})
  }

  submit(connection: Connection): void {
    connection.query(this.#sql)
  }

  handleCopyInResponse(connection: Connection): void {
    this.#begun.resolve(connection)
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.#begun.reject(error)
    this.#ended.reject(error)
  }

  handleReadyForQuery(): void {
    this.#ended.resolve()
  }
}

/** Reads rows by `copy … to stdout (format binary)`. The connection does nothing else until all are taken. @throws what the server says */
export async function* copyOut(connection: PostgresConnection, sql: string): AsyncGenerator<RowPiece> {
  const copy = new CopyOut(sql)
  connection.submit(copy)
  for (;;) {
    const piece = await copy.next()
    if (piece === null) return
    yield piece
  }
}

class CopyOut implements Submittable {
  readonly #sql: string
  readonly #rows = new RowGatherer()
  #server: Connection | undefined
  #isFirst = true
  #isEnded = false
  #error: Error | undefined
  #wake: () => void = () => {}

  constructor(sql: string) {
    this.#sql = sql
  }

  /** What has come in; null at the end. */
  async next(): Promise<RowPiece | null> {
    while (this.#rows.length === 0 && !this.#isEnded) await new Promise<void>((wake) => (this.#wake = wake))
    if (this.#error) throw this.#error
    if (this.#rows.length === 0) return null
    const piece = this.#rows.take()
    this.#server?.stream.resume()
    return piece
  }

  submit(connection: Connection): void {
    this.#server = connection
    connection.query(this.#sql)
  }

  /** The server sends each row in a message, the header before the first, and the trailer in one of its own, unless there are no rows. */
  handleCopyData({ chunk }: { chunk: Buffer }, { stream }: Connection): void {
    const row = this.#isFirst ? chunk.subarray(header.length) : chunk
    this.#isFirst = false
    if (row.equals(trailer)) return
    this.#rows.add(row)
    if (this.#rows.length > maxWaiting) stream.pause()
    this.#wake()
  }

  handleCommandComplete(): void {}

  handleError(error: Error): void {
    this.#error = error
    this.handleReadyForQuery()
  }

  handleReadyForQuery(): void {
    this.#isEnded = true
    this.#wake()
  }
}
