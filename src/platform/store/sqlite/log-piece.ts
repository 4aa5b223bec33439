import { checksumIn, frameBytes, parseWalHeader, walHeaderBytes, type Checksum, type WalHeader } from './wal-frames.ts'

/** Frames of a log that were cut out of it, with what is needed to check them. */
export interface LogPiece {
  header: WalHeader
  /** What the first frame's checksum goes on from. */
  seed: Checksum
  frames: Buffer
}

const seedBytes = 8

/** A piece as it is stored: the log's header, the seed, the frames. */
export function pieceBytes(header: Buffer, seed: Checksum, frames: Buffer): Buffer {
  const told = Buffer.alloc(seedBytes)
  told.writeUInt32BE(seed[0], 0)
  told.writeUInt32BE(seed[1], 4)
  return Buffer.concat([header, told, frames])
}

/** Null if it does not begin like a piece. Its frames are not checked. */
export function parsePiece(bytes: Buffer): LogPiece | null {
  const header = parseWalHeader(bytes)
  if (header === null || bytes.length < walHeaderBytes + seedBytes) return null
  const seed: Checksum = [bytes.readUInt32BE(walHeaderBytes), bytes.readUInt32BE(walHeaderBytes + 4)]
  return { header, seed, frames: bytes.subarray(walHeaderBytes + seedBytes) }
}

/** The piece without its first frames; `bytes` must be those of whole frames. */
export function withoutFirst({ header, seed, frames }: LogPiece, bytes: number): LogPiece {
  if (bytes === 0) return { header, seed, frames }
  return { header, seed: checksumIn(frames, bytes - frameBytes(header.pageSize)), frames: frames.subarray(bytes) }
}
