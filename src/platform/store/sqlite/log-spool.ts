import {
  existsSync,
  mkdirSync,
  closeSync,
  openSync,
  readSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, relative } from 'node:path'
import { identityOf } from './data-directory.ts'
import { pieceBytes } from './log-piece.ts'
import type { Connection } from './sqlite-connection.ts'
import { checksumIn, frameBytes, parseWalHeader, walHeaderBytes } from './wal-frames.ts'

/** Where what the continuous copy has not fetched yet is kept when the log is written again from its beginning. */
const spoolDirectory = (dataDir: string): string => join(dataDir, 'copying')
const chainFile = (dataDir: string): string => join(spoolDirectory(dataDir), 'chain.json')
const closedFile = (dataDir: string): string => join(spoolDirectory(dataDir), 'closed.json')

/** Frames of the log, up to the end of a commit, that are kept for the copy. */
export interface SpoolFile {
  path: string
  salts: string
  /** Where the frames begin and end in the log, bytes. */
  from: number
  to: number
}

const spoolForm = /^(\d{10})-([0-9a-f]{16})-(\d+)-(\d+)\.wal$/
/** The salts of no log. */
const noSalts = '0'.repeat(16)

/** The kept files, in the order of their commits. */
export function spoolFiles(dataDir: string): SpoolFile[] {
  const directory = spoolDirectory(dataDir)
  if (!existsSync(directory)) return []
  return readdirSync(directory)
    .sort()
    .flatMap((name) => {
      const [, , salts = '', from, to] = spoolForm.exec(name) ?? []
      return salts === '' ? [] : [{ path: join(directory, name), salts, from: Number(from), to: Number(to) }]
    })
}

/** The generation of the copy that all commits so far belong to; null if there is none. */
export function chainOf(dataDir: string): string | null {
  try {
    return (JSON.parse(readFileSync(chainFile(dataDir), 'utf8')) as { generation: string }).generation
  } catch {
    return null
  }
}

/** Where the chain began, as long as what followed is all there; null if it is not. */
export function beginningOf(dataDir: string): { salts: string; to: number; checksum: null } | null {
  const [first] = spoolFiles(dataDir)
  return first === undefined || first.from !== first.to ? null : { salts: first.salts, to: first.to, checksum: null }
}

/** Ends the chain: the copy must start again, from the whole database. */
export function breakChain(dataDir: string): void {
  rmSync(spoolDirectory(dataDir), { recursive: true, force: true })
}

/**
 * How far the copy has come, shared by its thread and the store's: the salts of the log, and the position up to which it has stored what
 * the log holds.
 */
export class CopiedPosition {
  readonly #cells: BigUint64Array<SharedArrayBuffer>

  constructor(sharedCells: SharedArrayBuffer) {
    this.#cells = new BigUint64Array(sharedCells)
  }

  static newCells(): SharedArrayBuffer {
    return new SharedArrayBuffer(2 * 8)
  }

  /** In an order in which the other thread never takes one log's position for another's. */
  set(salts: string, position: number): void {
    Atomics.store(this.#cells, 1, 0n)
    Atomics.store(this.#cells, 0, BigInt(`0x${salts}`))
    Atomics.store(this.#cells, 1, BigInt(position))
  }

  /** 0 if nothing of this log is stored. */
  in(salts: string): number {
    const position = Atomics.load(this.#cells, 1)
    const isSame = Atomics.load(this.#cells, 0) === BigInt(`0x${salts}`)
    return isSame && Atomics.load(this.#cells, 1) === position ? Number(position) : 0
  }
}

/**
 * Keeps every commit for the continuous copy: the log is not written again from its beginning before what the copy has not fetched is in a
 * file of its own. So commits never wait for the copy. Belongs to the store thread.
 */
export class LogSpool {
  readonly #dataDir: string
  readonly #secured: CopiedPosition
  readonly maxBytes: number
  #file = ''
  #spooled = { salts: noSalts, to: 0 }
  #isClosed = false

  constructor({ dataDir, sharedCells, maxBytes }: { dataDir: string; sharedCells: SharedArrayBuffer; maxBytes: number }) {
    this.#dataDir = dataDir
    this.#secured = new CopiedPosition(sharedCells)
    this.maxBytes = maxBytes
  }

  /** Call it before the database is opened: whatever else has written to it since broke the chain. */
  judgeChain(file: string): void {
    this.#file = file
    if (chainOf(this.#dataDir) === null || !this.#isUntouched()) breakChain(this.#dataDir)
    rmSync(closedFile(this.#dataDir), { force: true })
  }

  /** Begins a chain with the next commit. */
  begin(generation: string, connection: Connection): void {
    breakChain(this.#dataDir)
    mkdirSync(spoolDirectory(this.#dataDir), { recursive: true, mode: 0o700 })
    const log = this.#readHeader()
    this.#spooled = log === null ? { salts: noSalts, to: 0 } : { salts: log.salts, to: endOf(connection, log.pageSize) }
    this.#write(Buffer.alloc(0), this.#spooled.salts, this.#spooled.to, this.#spooled.to)
    const chain = { generation, database: relative(this.#dataDir, this.#file), identity: identityOf(this.#file) }
    writeFileSync(chainFile(this.#dataDir), JSON.stringify(chain), { mode: 0o600 })
  }

  /** Keeps what a checkpoint would let be overwritten. If the copy is too far behind, or there is no space, the chain ends. */
  keep(connection: Connection): void {
    if (this.#isClosed || !existsSync(chainFile(this.#dataDir))) return
    try {
      this.#keep(connection)
    } catch {
      // Commits go on. If this cannot be removed either, the gap is seen.
      breakChain(this.#dataDir)
    }
  }

  #keep(connection: Connection): void {
    const log = this.#readHeader()
    if (log === null) return
    const to = endOf(connection, log.pageSize)
    const before = this.#spooled.salts === log.salts ? this.#spooled.to : walHeaderBytes
    const from = Math.max(walHeaderBytes, before, Math.min(this.#secured.in(log.salts), to))
    if (to <= walHeaderBytes || (to === before && this.#spooled.salts === log.salts)) return
    if (this.#keptBytes() + to - from > this.maxBytes) return breakChain(this.#dataDir)
    this.#write(this.#read(log.bytes, from, to, log.pageSize), log.salts, from, to)
    this.#spooled = { salts: log.salts, to }
  }

  /** Call it once the database is closed. */
  noteClosed(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    if (chainOf(this.#dataDir) !== null) writeFileSync(closedFile(this.#dataDir), stateOf(this.#file), { mode: 0o600 })
  }

  #isUntouched(): boolean {
    const { database, identity } = JSON.parse(readFileSync(chainFile(this.#dataDir), 'utf8')) as Record<string, string>
    if (database !== relative(this.#dataDir, this.#file) || identity !== identityOf(this.#file)) return false
    const closed = closedFile(this.#dataDir)
    // After a crash, the log is still there: whoever opened the database in between and closed it has removed it.
    return existsSync(closed) ? readFileSync(closed, 'utf8') === stateOf(this.#file) : existsSync(`${this.#file}-wal`)
  }

  #keptBytes(): number {
    return spoolFiles(this.#dataDir).reduce((sum, { from, to }) => sum + to - from, 0)
  }

  #readHeader() {
    if (!existsSync(`${this.#file}-wal`)) return null
    const bytes = this.#readLog(0, walHeaderBytes)
    const header = parseWalHeader(bytes)
    return header === null ? null : { ...header, bytes }
  }

  #read(header: Buffer, from: number, to: number, pageSize: number): Buffer {
    if (from === walHeaderBytes) {
      const first = parseWalHeader(header)
      return pieceBytes(header, first?.checksum ?? [0, 0], this.#readLog(from, to))
    }
    const withPrevious = this.#readLog(from - frameBytes(pageSize), to)
    return pieceBytes(header, checksumIn(withPrevious, 0), withPrevious.subarray(frameBytes(pageSize)))
  }

  /** Not flushed: after a power cut, a part that is missing ends the chain. */
  #write(piece: Buffer, salts: string, from: number, to: number): void {
    const last = spoolFiles(this.#dataDir).at(-1)
    const number = last === undefined ? 1 : numberOf(last) + 1
    const path = join(spoolDirectory(this.#dataDir), `${String(number).padStart(10, '0')}-${salts}-${from}-${to}.wal`)
    writeFileSync(`${path}.part`, piece, { mode: 0o600 })
    renameSync(`${path}.part`, path)
  }

  #readLog(from: number, to: number): Buffer {
    // SQLite has no locks on this file that closing it would release.
    const file = openSync(`${this.#file}-wal`, 'r')
    try {
      const bytes = Buffer.alloc(to - from)
      return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, from))
    } finally {
      closeSync(file)
    }
  }
}

const numberOf = ({ path }: SpoolFile): number => Number(basename(path).slice(0, 10))

/** Where the last commit in the log ends. */
function endOf(connection: Connection, pageSize: number): number {
  const [state] = connection.pragma('wal_checkpoint(noop)') as { log: number }[]
  return walHeaderBytes + Math.max(0, state?.log ?? 0) * frameBytes(pageSize)
}

function stateOf(file: string): string {
  const { size, mtimeNs } = statSync(file, { bigint: true })
  return `${size} ${mtimeNs}`
}
