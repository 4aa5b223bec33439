import type { Value } from './database.ts'

/** What a column holds, in either engine. */
export type ColumnType = 'bigint' | 'blob' | 'text'

/** A value as an engine's driver gives it. Whole numbers may be larger than a double can tell apart. */
export type ExactValue = Value | bigint

/** Rows in a form that both engines have: each as PostgreSQL's binary COPY has it. */
export interface RowPiece {
  count: number
  /** Until the next piece is asked for: its memory is used again. */
  bytes: Buffer
}

/** A piece is given on when it has reached this size, bytes. A row is never divided. */
export const pieceBytes = 256 * 1024
/** Memory that is used again for the next piece is no larger, bytes. */
const maxKeptBytes = 16 * pieceBytes
const nullLength = -1
const nul = /\0/g

/** Writes rows into pieces. */
export class RowEncoder {
  readonly #columns: readonly { name: string; type: ColumnType }[]
  #bytes = Buffer.allocUnsafe(2 * pieceBytes)
  #length = 0
  #count = 0
  /** Values in which a NUL was replaced. */
  replaced = 0

  constructor(columns: readonly { name: string; type: ColumnType }[]) {
    this.#columns = columns
  }

  get isFull(): boolean {
    return this.#length >= pieceBytes
  }

  /** @throws Error if a value is none of its column */
  add(values: readonly ExactValue[]): void {
    this.#room(2)
    this.#length = this.#bytes.writeInt16BE(this.#columns.length, this.#length)
    this.#columns.forEach((column, place) => this.#value(values[place] ?? null, column))
    this.#count++
  }

  /** What was added since the last call; valid until a row is added. */
  take(): RowPiece {
    const piece = { count: this.#count, bytes: this.#bytes.subarray(0, this.#length) }
    // What a large row needed is given back.
    if (this.#bytes.length > maxKeptBytes) this.#bytes = Buffer.allocUnsafe(2 * pieceBytes)
    this.#length = 0
    this.#count = 0
    return piece
  }

  #value(value: ExactValue, { name, type }: { name: string; type: ColumnType }): void {
    if (value === null) return this.#int32(nullLength)
    if (type === 'bigint' && (typeof value === 'bigint' || Number.isInteger(value))) return this.#int64(BigInt(value as bigint | number))
    if (type === 'blob' && value instanceof Uint8Array) return this.#blob(value)
    if (type === 'text' && typeof value === 'string') return this.#text(value)
    throw new Error(`its column ${name} is of the type ${type}, and holds ${nameOf(value)}`)
  }

  #int64(value: bigint): void {
    this.#int32(8)
    this.#room(8)
    this.#length = this.#bytes.writeBigInt64BE(value, this.#length)
  }

  #blob(value: Uint8Array): void {
    this.#int32(value.length)
    this.#room(value.length)
    this.#bytes.set(value, this.#length)
    this.#length += value.length
  }

  #text(value: string): void {
    const text = value.includes('\0') ? this.#withoutNul(value) : value
    const length = Buffer.byteLength(text)
    this.#int32(length)
    this.#room(length)
    this.#length += this.#bytes.write(text, this.#length)
  }

  /** PostgreSQL's text takes every character but this. */
  #withoutNul(value: string): string {
    this.replaced++
    return value.replace(nul, '\ufffd')
  }

  #int32(value: number): void {
    this.#room(4)
    this.#length = this.#bytes.writeInt32BE(value, this.#length)
  }

  #room(length: number): void {
    this.#bytes = withRoom(this.#bytes, this.#length, length)
  }
}

/** Gathers rows that are written already. */
export class RowGatherer {
  #bytes = Buffer.allocUnsafe(2 * pieceBytes)
  /** That of the piece which was given on last. */
  #given = Buffer.allocUnsafe(2 * pieceBytes)
  #count = 0
  /** Of what was added since the last `take`, bytes. */
  length = 0

  /** @param row may change after this call */
  add(row: Buffer): void {
    this.#bytes = withRoom(this.#bytes, this.length, row.length)
    this.length += row.copy(this.#bytes, this.length)
    this.#count++
  }

  /** What was added since the last call; valid until the next one. */
  take(): RowPiece {
    const piece = { count: this.#count, bytes: this.#bytes.subarray(0, this.length) }
    const next = this.#given.length > maxKeptBytes ? Buffer.allocUnsafe(2 * pieceBytes) : this.#given
    this.#given = this.#bytes
    this.#bytes = next
    this.length = 0
    this.#count = 0
    return piece
  }
}

/** The same bytes, or a larger copy of the first `length` of them where `more` do not fit. */
function withRoom(bytes: Buffer<ArrayBuffer>, length: number, more: number): Buffer<ArrayBuffer> {
  if (length + more <= bytes.length) return bytes
  const larger = Buffer.allocUnsafe(2 * (length + more))
  bytes.copy(larger, 0, 0, length)
  return larger
}

const nameOf = (value: ExactValue): string =>
  typeof value === 'string' ? 'text' : value instanceof Uint8Array ? 'bytes' : typeof value === 'bigint' ? 'a whole number' : 'a fraction'

/** The values of the rows in a piece. */
export function* decodedRows({ bytes }: Pick<RowPiece, 'bytes'>, types: readonly ColumnType[]): Generator<ExactValue[]> {
  for (let at = 0; at < bytes.length;) {
    at += 2
    const row: ExactValue[] = []
    for (const type of types) {
      const length = bytes.readInt32BE(at)
      at += 4
      row.push(length === nullLength ? null : decoded(bytes.subarray(at, at + length), type))
      at += Math.max(0, length)
    }
    yield row
  }
}

const decoded = (bytes: Buffer, type: ColumnType): ExactValue =>
  type === 'bigint' ? bytes.readBigInt64BE() : type === 'text' ? bytes.toString() : bytes
