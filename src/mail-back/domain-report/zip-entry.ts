import { buffer } from 'node:stream/consumers'
import { crc32 } from 'node:zlib'
import { type Entry, fromBufferPromise } from 'yauzl'
import { messageOf } from '../../platform/errors.ts'
import { ReportFault } from './domain-report.ts'

/**
 * The only file in a zip archive.
 * @param limit bytes; a larger file is refused before it is unpacked
 * @throws ReportFault if the archive is broken or encrypted, or has several files
 */
export async function onlyZipEntry(archive: Buffer, limit: number): Promise<Buffer> {
  try {
    const zip = await fromBufferPromise(archive, { decodeStrings: false })
    if (zip.entryCount !== 1) throw new ReportFault(`The zip archive has ${zip.entryCount} entries instead of one report.`)
    const { value: entry } = (await zip.eachEntry().next()) as { value: Entry }
    if (entry.isEncrypted()) throw new ReportFault('The zip archive is encrypted.')
    if (entry.uncompressedSize > limit) throw new ReportFault(`The zip archive unpacks to more than ${limit} bytes.`)
    // The stream fails as soon as the file's size differs from its entry.
    const file = await buffer(await zip.openReadStreamPromise(entry))
    if (crc32(file) !== entry.crc32) throw new Error('the checksum of its file differs')
    return file
  } catch (error) {
    throw error instanceof ReportFault ? error : new ReportFault(`The zip archive is broken (${messageOf(error)}).`)
  }
}
