/** The format of a write-ahead log: https://www.sqlite.org/fileformat2.html#walformat. Pure. */

export const walHeaderBytes = 32
const frameHeaderBytes = 24

/** What the frames of a log have in common. */
export interface WalHeader {
  pageSize: number
  /** Of this turn of the log, 16 hexadecimal digits: they change each time that the log is written again from its beginning. */
  salts: string
  /** What the first frame's checksum goes on from. */
  checksum: Checksum
  isLittleEndian: boolean
}

export type Checksum = readonly [number, number]

/** Frames up to the end of a commit. */
export interface Committed {
  bytes: number
  /** Of the last frame; what the next frame's goes on from. */
  checksum: Checksum
  /** Size of the database after the commit, pages. */
  pages: number
}

/** Null if these bytes do not begin a log. */
export function parseWalHeader(bytes: Buffer): WalHeader | null {
  if (bytes.length < walHeaderBytes) return null
  const magic = bytes.readUInt32BE(0)
  if (magic !== 0x377f0682 && magic !== 0x377f0683) return null
  const isLittleEndian = magic === 0x377f0682
  const checksum: Checksum = [bytes.readUInt32BE(24), bytes.readUInt32BE(28)]
  const [one, other] = checksumOf(bytes.subarray(0, 24), [0, 0], isLittleEndian)
  if (one !== checksum[0] || other !== checksum[1]) return null
  return { pageSize: bytes.readUInt32BE(8), salts: bytes.toString('hex', 16, 24), checksum, isLittleEndian }
}

export const frameBytes = (pageSize: number): number => frameHeaderBytes + pageSize

/**
 * Finds the last commit in frames that continue a log.
 * @param from the checksum of the frame before, or of the header
 * @returns null if there is no whole commit; what follows the last one is not yet committed, or belongs to an earlier turn of the log
 */
export function committedFrames(frames: Buffer, header: WalHeader, from: Checksum): Committed | null {
  const size = frameBytes(header.pageSize)
  let found: Committed | null = null
  let checksum = from
  for (let at = 0; at + size <= frames.length; at += size) {
    if (frames.toString('hex', at + 8, at + 16) !== header.salts) break
    checksum = checksumOf(frames.subarray(at, at + 8), checksum, header.isLittleEndian)
    checksum = checksumOf(frames.subarray(at + frameHeaderBytes, at + size), checksum, header.isLittleEndian)
    const told = checksumIn(frames, at)
    if (told[0] !== checksum[0] || told[1] !== checksum[1]) break
    const pages = frames.readUInt32BE(at + 4)
    if (pages > 0) found = { bytes: at + size, checksum, pages }
  }
  return found
}

/** The checksum that the frame at a position says. */
export const checksumIn = (frames: Buffer, at: number): Checksum => [frames.readUInt32BE(at + 16), frames.readUInt32BE(at + 20)]

/** Each frame's page: its number from 1 on, and its content. */
export function* pagesIn(frames: Buffer, pageSize: number): Generator<{ number: number; content: Buffer }> {
  const size = frameBytes(pageSize)
  for (let at = 0; at + size <= frames.length; at += size) {
    yield { number: frames.readUInt32BE(at), content: frames.subarray(at + frameHeaderBytes, at + size) }
  }
}

function checksumOf(bytes: Buffer, before: Checksum, isLittleEndian: boolean): Checksum {
  let [s0, s1] = before
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at < bytes.length; at += 8) {
    s0 = (s0 + view.getUint32(at, isLittleEndian) + s1) >>> 0
    s1 = (s1 + view.getUint32(at + 4, isLittleEndian) + s0) >>> 0
  }
  return [s0, s1]
}
