import type { FileHandle } from 'node:fs/promises'
import { parsePiece } from './log-piece.ts'
import { committedFrames, pagesIn, walHeaderBytes, type Checksum, type Committed } from './wal-frames.ts'

/** Which commits a piece of the log holds. */
interface Segment {
  salts: string
  /** Where its frames begin and end in the log, bytes. */
  from: number
  to: number
  /** The checksum of its last frame. */
  checksum: Checksum
}

/** Null for a segment that is what its name says, and continues the one before. */
export function segmentFault(bytes: Buffer, name: Segment, before: Segment | undefined): string | null {
  const piece = parsePiece(bytes)
  if (piece === null) return 'it is not a piece of a log'
  const found = committedFrames(piece.frames, piece.header, piece.seed)
  const isNamed = piece.header.salts === name.salts && String(found?.checksum) === String(name.checksum)
  if (!isNamed || found?.bytes !== piece.frames.length || found.bytes !== name.to - name.from) return 'it does not hold what its name says'
  if (before === undefined) return null
  const isContinued =
    before.salts === name.salts ? before.to === name.from && String(before.checksum) === String(piece.seed) : name.from === walHeaderBytes
  return isContinued ? null : 'it does not continue the one before'
}

/** Writes the pages of a segment into a copy of the database, and returns how many it has then. */
export async function addSegment(handle: FileHandle, bytes: Buffer): Promise<{ count: number; size: number }> {
  const { header, seed, frames } = parsePiece(bytes) as NonNullable<ReturnType<typeof parsePiece>>
  const newest = new Map<number, Buffer>()
  for (const { number, content } of pagesIn(frames, header.pageSize)) newest.set(number, content)
  for (const [number, content] of newest) await handle.write(content, 0, content.length, (number - 1) * header.pageSize)
  return { count: (committedFrames(frames, header, seed) as Committed).pages, size: header.pageSize }
}
