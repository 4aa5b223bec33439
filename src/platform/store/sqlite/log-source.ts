import { rmSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import type { CopiedLogPlace } from '../store.ts'
import { parsePiece, pieceBytes, withoutFirst, type LogPiece } from './log-piece.ts'
import { beginningOf, chainOf, CopiedPosition, spoolFiles, type SpoolFile } from './log-spool.ts'
import { checksumIn, committedFrames, frameBytes, parseWalHeader, walHeaderBytes, type Checksum, type Committed } from './wal-frames.ts'

/** How far the log has been read. */
export interface LogPosition {
  salts: string
  /** Where the last frame ends, bytes. */
  to: number
  /** Its checksum; null if it is not known. */
  checksum: Checksum | null
}

/** What follows a position: committed frames, and where they end. */
interface NextCommits {
  /** As they are stored, for `addSegment`. */
  bytes: Buffer
  /** Of the commits alone. */
  length: number
  from: number
  position: LogPosition & { checksum: Checksum }
  /** Whether nothing more was committed when it was read. */
  isTail: boolean
}

/** What follows is not there any more: the copy must start again. */
export class ChainBroken extends Error {}

/** How much of the log is read at once. A transaction may be larger. */
const readBytes = 8 * 1024 * 1024
/** The log may be written again from its beginning while it is looked at. */
const tries = 5

/**
 * Reads the commits that follow a position: first from the files that were kept when the log was written again from its beginning, then
 * from the log itself.
 */
export class LogSource {
  readonly #dataDir: string
  readonly #log: string
  readonly #secured: CopiedPosition

  constructor({ dataDir, database, sharedCells }: CopiedLogPlace) {
    this.#dataDir = dataDir
    this.#log = `${database}-wal`
    this.#secured = new CopiedPosition(sharedCells)
  }

  /** The generation of the copy that all commits so far belong to; null if there is none. */
  get generation(): string | null {
    return chainOf(this.#dataDir)
  }

  /** Where that generation began, as long as what followed is all there; null if it is not. */
  get beginning(): LogPosition | null {
    return beginningOf(this.#dataDir)
  }

  /** Everything up to here is stored: the database need not keep it for the copy. */
  secure({ salts, to }: LogPosition): void {
    this.#secured.set(salts, to)
  }

  /** Removes what was kept and is stored. The last file of the log's present turn stays: it says where that turn ended, if it did. */
  dropUpTo({ salts, to }: LogPosition): void {
    const kept = spoolFiles(this.#dataDir)
    const last = kept.findLastIndex((file) => file.salts === salts)
    const copied = kept.filter((file, place) => (last < 0 || place < last) && (file.salts !== salts || file.to <= to))
    for (const { path } of copied) rmSync(path, { force: true })
  }

  /**
   * Null if there is nothing new.
   * @throws ChainBroken
   */
  async after(position: LogPosition): Promise<NextCommits | null> {
    for (let attempt = 0; attempt < tries; attempt++) {
      const kept = spoolFiles(this.#dataDir)
      for (const file of this.#following(kept, position)) {
        const found = await this.#keptCommits(file, position)
        if (found !== null) return found
        // It has no more, and a later file may begin another turn of the log.
      }
      const found = await this.#loggedCommits(position, endedTurn(kept, position))
      if (found !== 'turned') return found
    }
    throw new ChainBroken('the log was written again from its beginning before it was copied')
  }

  /** The files that may hold what follows. */
  #following(kept: SpoolFile[], { salts, to }: LogPosition): SpoolFile[] {
    const last = kept.findLastIndex((file) => file.salts === salts)
    if (last < 0) return []
    const same = kept.filter((file) => file.salts === salts && file.to > to)
    const [next] = kept.slice(last + 1)
    if (same.length > 0) return same
    return next === undefined ? [] : kept.filter(({ salts: others }) => others === next.salts)
  }

  async #keptCommits(file: SpoolFile, position: LogPosition): Promise<NextCommits | null> {
    const bytes = await readFile(file.path)
    const piece = parsePiece(bytes)
    if (piece === null || piece.frames.length !== file.to - file.from || piece.header.salts !== file.salts) {
      throw new ChainBroken(`${file.path} is not whole`)
    }
    const begin = file.salts === position.salts ? position.to : walHeaderBytes
    if (file.from > begin) throw new ChainBroken(`commits before ${file.path} are missing`)
    if (file.to <= begin) return null
    const found = commitsIn(withoutFirst(piece, begin - file.from), begin, bytes.subarray(0, walHeaderBytes))
    return found === null ? null : { ...found, isTail: false }
  }

  async #loggedCommits(position: LogPosition, hasEnded: boolean): Promise<NextCommits | null | 'turned'> {
    const file = await open(this.#log, 'r').catch(() => null)
    if (file === null) return null
    try {
      const read = async (from: number, bytes: number): Promise<Buffer> => {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, from)
        return buffer.subarray(0, bytesRead)
      }
      const head = await read(0, walHeaderBytes)
      const header = parseWalHeader(head)
      if (header === null) return null
      const isSame = header.salts === position.salts
      if (!isSame && !hasEnded) return 'turned'
      const begin = isSame ? position.to : walHeaderBytes
      const size = frameBytes(header.pageSize)
      const seed = begin === walHeaderBytes ? header.checksum : checksumIn(await read(begin - size, size), 0)
      if (isSame && position.checksum !== null && begin > walHeaderBytes && String(seed) !== String(position.checksum)) return 'turned'
      const { size: end } = await file.stat()
      for (let bytes = readBytes; ; bytes *= 2) {
        const frames = await read(begin, Math.min(bytes, Math.max(0, end - begin)))
        const found = commitsIn({ header, seed, frames }, begin, head)
        const isEnd = begin + bytes >= end
        // The file may be longer than the log: what follows is from an earlier turn.
        if (found !== null) return { ...found, isTail: isEnd || found.length < frames.length }
        if (isEnd) return null
      }
    } finally {
      await file.close()
    }
  }
}

/** Whether the log was written again from its beginning after this position, or may be. */
const endedTurn = (kept: SpoolFile[], { salts, to }: LogPosition): boolean =>
  kept.findLast((file) => file.salts === salts)?.to === to && kept.at(-1)?.salts === salts

function commitsIn(piece: LogPiece, from: number, header: Buffer): Omit<NextCommits, 'isTail'> | null {
  const committed: Committed | null = committedFrames(piece.frames, piece.header, piece.seed)
  if (committed === null) return null
  const frames = piece.frames.subarray(0, committed.bytes)
  const position = { salts: piece.header.salts, to: from + committed.bytes, checksum: committed.checksum }
  return { bytes: pieceBytes(header, piece.seed, frames), length: frames.length, from, position }
}
