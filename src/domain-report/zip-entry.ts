import { crc32, inflateRawSync } from 'node:zlib'
import { ReportFault } from './domain-report.ts'

const [endSignature, entrySignature, fileSignature] = [0x06054b50, 0x02014b50, 0x04034b50]
const [endSize, entrySize, fileHeaderSize] = [22, 46, 30]
const longestComment = 0xffff
/** What a field has where the true value is in a ZIP64 record. */
const zip64 = 0xffffffff
const [stored, deflated] = [0, 8]

const refuse = (fault: string): never => {
  throw new ReportFault(`The zip archive ${fault}.`)
}

/**
 * The only file in a zip archive (APPNOTE 6.3): stored or deflated, as every program makes it.
 * @param limit bytes; anything that would unpack to more is refused first
 * @throws ReportFault for an archive of several files, an encrypted or broken one, and ZIP64
 */
export function onlyZipEntry(archive: Buffer, limit: number): Buffer {
  const end = endRecordOf(archive)
  const [entries, size, start] = [archive.readUInt16LE(end + 10), archive.readUInt32LE(end + 12), archive.readUInt32LE(end + 16)]
  if (entries === 0xffff || start === zip64) refuse('is of the kind ZIP64')
  if (entries !== 1) refuse(`has ${entries} entries instead of one report`)
  if (start + size > end || start + entrySize > end || archive.readUInt32LE(start) !== entrySignature) refuse('is broken')
  return fileAt(archive, start, limit)
}

function endRecordOf(archive: Buffer): number {
  const last = archive.length - endSize
  for (let at = last; at >= 0 && at >= last - longestComment; at--) {
    if (archive.readUInt32LE(at) === endSignature && at + endSize + archive.readUInt16LE(at + 20) === archive.length) return at
  }
  return refuse('has no end, or is not whole')
}

/** The file that the entry of the central directory at `entry` tells of. */
function fileAt(archive: Buffer, entry: number, limit: number): Buffer {
  const [flags, method, checksum] = [archive.readUInt16LE(entry + 8), archive.readUInt16LE(entry + 10), archive.readUInt32LE(entry + 16)]
  const [packedSize, size] = [archive.readUInt32LE(entry + 20), archive.readUInt32LE(entry + 24)]
  const header = archive.readUInt32LE(entry + 42)
  if ((flags & 1) !== 0) refuse('is encrypted')
  if ([packedSize, size, header].includes(zip64)) refuse('is of the kind ZIP64')
  if (method !== stored && method !== deflated) refuse(`is packed by a method (${method}) that is not known`)
  if (size > limit) refuse(`unpacks to more than ${limit} bytes`)
  if (header + fileHeaderSize > entry || archive.readUInt32LE(header) !== fileSignature) refuse('is broken')
  const start = header + fileHeaderSize + archive.readUInt16LE(header + 26) + archive.readUInt16LE(header + 28)
  if (start + packedSize > entry) refuse('is broken')
  const packed = archive.subarray(start, start + packedSize)
  const file = method === stored ? packed : inflate(packed, limit)
  if (file.length !== size || crc32(file) !== checksum) refuse('is broken: the checksum of its file differs')
  return file
}

function inflate(packed: Buffer, limit: number): Buffer {
  try {
    return inflateRawSync(packed, { maxOutputLength: limit })
  } catch (error) {
    const isTooLarge = error instanceof RangeError
    return refuse(isTooLarge ? `unpacks to more than ${limit} bytes` : 'is broken')
  }
}
