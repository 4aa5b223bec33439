import pg, { type Client, type Submittable } from 'pg'
import { sharedBytes } from '../../shared-memory.ts'
import type { Row, Value } from '../database.ts'
import { LostConnection, isLost } from './postgres-errors.ts'
import type { PostgresPlace } from './postgres-url.ts'

/** What came of a statement. `rows`: null of one that returns none. */
export interface Ran {
  rows: Row[] | null
  changes: number
  /** The first word of what the server says was done: `COMMIT`, `ROLLBACK`. */
  command: string
}

/** How long to wait for a connection, ms. */
const connectMs = 10_000
/** How long the server may be silent on a connection that waits for something, ms: longer than it lets anybody wait for a lock. */
const silenceMs = 30_000
/** Larger values are in shared memory, which is not copied again on its way to the delivery thread. */
const shareFrom = 1024
/** Statements that the server keeps prepared for a connection. Ordinary work has a hundred; list filters combine into many more. */
const maxPrepared = 400

/**
 * What a session is set to. Values are read in one form. A commit is on disk once it is answered, whatever the server does for others.
 * Whoever waits for a lock gives way to others after a while, long before a node counts as dead. A node that stops in the middle of a commit
 * keeps nobody waiting.
 */
const session = `
  set client_encoding = 'UTF8'; set bytea_output = 'hex'; set extra_float_digits = 1; set jit = off;
  set default_transaction_isolation = 'read committed'; set default_transaction_read_only = off;
  set lock_timeout = '1s'; set idle_in_transaction_session_timeout = '3s';
  select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') in ('off', 'local');`

/** One connection to the server. Statements are sent at once and answered in order. */
export class PostgresConnection {
  readonly #client: Client
  #isPatient = false
  #lost: Error | undefined
  #awaited = 0
  #silence: NodeJS.Timeout | undefined

  private constructor(client: Client) {
    this.#client = client
    // Whoever waits for an answer hears of it too.
    client.on('error', (error: Error) => this.#end(error))
    client.on('end', () => this.#end(new Error('the connection was closed')))
  }

  /**
   * @param isPatient true if its statements may take as long as they like
   * @param copies true if it is for `submit`, and statements need not be sent before the earlier ones are answered
   */
  static async open(place: PostgresPlace, { isPatient = false, copies = false } = {}): Promise<PostgresConnection> {
    const { host, port, user, password, database, ssl } = place
    const client = new pg.Client({
      host,
      port,
      user,
      password,
      database,
      ssl,
      application_name: 'sterna',
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      connectionTimeoutMillis: connectMs,
      pipeline: !copies,
      types: { getTypeParser: readerOf },
    })
    const connection = new PostgresConnection(client)
    try {
      await client.connect()
      await connection.execute(session)
      connection.#isPatient = isPatient
      return connection
    } catch (error) {
      client.end().catch(() => {})
      throw error
    }
  }

  get isLost(): boolean {
    return this.#lost !== undefined
  }

  /**
   * Runs one statement with values for `$1`, `$2` ….
   * @param number of a text that comes again
   * @throws LostConnection, and what the server says of the statement
   */
  async run(text: string, values: Value[] = [], number?: number): Promise<Ran> {
    if (this.#lost) throw new LostConnection(this.#lost)
    this.#asked()
    try {
      const name = number !== undefined && number < maxPrepared ? { name: `s${number}` } : {}
      const { rows, fields, rowCount, command } = await this.#client.query({
        text,
        values: values.some(hasNul) ? values.map(withoutNul) : values,
        ...name,
      })
      return { rows: fields.length > 0 ? (rows as Row[]) : null, changes: rowCount ?? 0, command }
    } catch (error) {
      if (isLost(error)) this.destroy(error as Error)
      throw this.#lost ? new LostConnection(this.#lost) : error
    } finally {
      this.#answered()
    }
  }

  /** Runs a script of statements without values. */
  async execute(script: string): Promise<void> {
    this.#asked()
    try {
      await this.#client.query(script)
    } finally {
      this.#answered()
    }
  }

  /** Hands over to what speaks with the server itself. */
  submit(query: Submittable): void {
    this.#client.query(query)
  }

  async close(): Promise<void> {
    clearTimeout(this.#silence)
    await this.#client.end().catch(() => {})
  }

  /** Gives it up: whoever waits for an answer is told. */
  destroy(reason: Error): void {
    this.#end(reason)
    this.#client.connection.stream.destroy()
  }

  #end(reason: Error): void {
    this.#lost ??= reason
    clearTimeout(this.#silence)
  }

  /** A network that drops packets says nothing for a quarter of an hour. */
  #asked(): void {
    if (++this.#awaited > 1 || this.#isPatient || this.#lost) return
    this.#silence = setTimeout(() => this.destroy(new Error('the server has been silent')), silenceMs).unref()
  }

  #answered(): void {
    if (--this.#awaited === 0) clearTimeout(this.#silence)
    else if (!this.#lost) this.#silence?.refresh()
  }
}

const hasNul = (value: Value): boolean => typeof value === 'string' && value.includes('\0')

/** The server refuses text with NUL, which a client's words or another host's reply may have: neither is worth an error, or its outcome. */
const withoutNul = (value: Value): Value => (typeof value === 'string' ? value.replaceAll('\0', '\u{fffd}') : value)

const oids = { bytea: 17, bigint: 20, smallint: 21, integer: 23, real: 700, double: 701, numeric: 1700 }
const numbers = new Set([oids.bigint, oids.smallint, oids.integer, oids.real, oids.double, oids.numeric])

/** Text otherwise. */
const readerOf = (oid: number): ((text: string) => Value) => (oid === oids.bytea ? bytesOf : numbers.has(oid) ? Number : asItIs)

const asItIs = (text: string): string => text

/** From `\x` and hex digits. */
function bytesOf(text: string): Uint8Array {
  const length = (text.length - 2) / 2
  const bytes = Buffer.from(text.slice(2), 'hex')
  if (length < shareFrom) return bytes
  const shared = sharedBytes(length)
  shared.set(bytes)
  return shared
}
