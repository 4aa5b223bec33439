import { connect, type Socket } from 'node:net'
import type { Row, Value } from '../../src/platform/store/database.ts'

/** What PostgreSQL said of a statement that it refused; `code`: its SQLSTATE. */
export class PostgresError extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(`${code}: ${message}`)
    this.code = code
  }
}

interface Answer {
  rows: Row[]
  /** How many rows it changed, or returned. */
  changes: number
}

interface Awaited {
  resolve: (answer: Answer) => void
  reject: (error: Error) => void
}

const typeOf = { bytea: 17, bigint: 20, integer: 23, double: 701, numeric: 1700 }

/** One session with PostgreSQL, by its extended protocol: a statement at a time, with values as text. */
export class PostgresSession {
  readonly #socket: Socket
  readonly #awaited: Awaited[] = []
  #input: Buffer = Buffer.alloc(0)
  #columns: { name: string; type: number }[] = []
  #rows: Row[] = []
  #changes = 0
  #error: PostgresError | undefined

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (data: Buffer) => this.#take(data))
    socket.on('close', () => {
      for (const { reject } of this.#awaited.splice(0)) reject(new Error('PostgreSQL has closed the session'))
    })
    socket.on('error', () => {})
  }

  /** @param path of its UNIX socket */
  static async open(path: string, database: string): Promise<PostgresSession> {
    const session = new PostgresSession(connect(path))
    const version = Buffer.from([0, 3, 0, 0])
    const names = Buffer.from(`user\0sterna\0database\0${database}\0client_encoding\0UTF8\0\0`)
    await session.#ask(sized(Buffer.concat([version, names])))
    return session
  }

  /** Runs one statement with `$1`, `$2` … @throws PostgresError */
  run(sql: string, values: Value[] = []): Promise<Answer> {
    const parse = message('P', text(''), text(sql), int16(0))
    const bind = message('B', text(''), text(''), int16(0), int16(values.length), ...values.map(parameter), int16(0))
    return this.#ask(Buffer.concat([parse, bind, message('D', Buffer.from('P'), text('')), message('E', text(''), int32(0)), message('S')]))
  }

  close(): void {
    this.#socket.end(message('X'))
  }

  #ask(bytes: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#socket.destroyed) return reject(new Error('PostgreSQL has closed the session'))
      this.#awaited.push({ resolve, reject })
      this.#socket.write(bytes)
    })
  }

  #take(data: Buffer): void {
    this.#input = Buffer.concat([this.#input, data])
    while (this.#input.length >= 5 && this.#input.length > this.#input.readInt32BE(1)) {
      const end = 1 + this.#input.readInt32BE(1)
      this.#hear(String.fromCharCode(this.#input[0] as number), this.#input.subarray(5, end))
      this.#input = this.#input.subarray(end)
    }
  }

  #hear(kind: string, body: Buffer): void {
    if (kind === 'T') this.#columns = columnsOf(body)
    else if (kind === 'D') this.#rows.push(rowOf(body, this.#columns))
    else if (kind === 'C') this.#changes = Number(/\d+(?=\0$)/.exec(body.toString())?.[0] ?? 0)
    else if (kind === 'E') this.#error = errorOf(body)
    else if (kind === 'Z') this.#end()
  }

  /** It is ready for the next statement. */
  #end(): void {
    const [awaited, error, answer] = [this.#awaited.shift(), this.#error, { rows: this.#rows, changes: this.#changes }]
    this.#rows = []
    this.#changes = 0
    this.#error = undefined
    if (error) awaited?.reject(error)
    else awaited?.resolve(answer)
  }
}

const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

const text = (value: string): Buffer => Buffer.from(`${value}\0`)
const sized = (bytes: Buffer): Buffer => Buffer.concat([int32(bytes.length + 4), bytes])
const message = (kind: string, ...parts: Buffer[]): Buffer => Buffer.concat([Buffer.from(kind), sized(Buffer.concat(parts))])

function parameter(value: Value): Buffer {
  if (value === null) return int32(-1)
  const bytes = Buffer.from(value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : String(value))
  return Buffer.concat([int32(bytes.length), bytes])
}

function columnsOf(body: Buffer): { name: string; type: number }[] {
  let at = 2
  return Array.from({ length: body.readInt16BE(0) }, () => {
    const end = body.indexOf(0, at)
    const column = { name: body.toString('utf8', at, end), type: body.readInt32BE(end + 7) }
    at = end + 19
    return column
  })
}

function rowOf(body: Buffer, columns: { name: string; type: number }[]): Row {
  let at = 2
  const row: Row = {}
  for (const { name, type } of columns) {
    const length = body.readInt32BE(at)
    at += 4
    row[name] = length === -1 ? null : valueOf(body.toString('utf8', at, at + length), type)
    at += Math.max(0, length)
  }
  return row
}

function valueOf(value: string, type: number): Value {
  if (type === typeOf.bytea) return Buffer.from(value.slice(2), 'hex')
  const isNumber = type === typeOf.bigint || type === typeOf.integer || type === typeOf.double || type === typeOf.numeric
  return isNumber ? Number(value) : value
}

function errorOf(body: Buffer): PostgresError {
  const fields = new Map(
    body
      .toString()
      .split('\0')
      .map((field) => [field[0], field.slice(1)]),
  )
  return new PostgresError(fields.get('C') ?? '', fields.get('M') ?? '')
}
