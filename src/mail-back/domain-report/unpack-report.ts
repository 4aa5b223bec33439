import { gunzipSync } from 'node:zlib'
import { ReportFault } from './domain-report.ts'
import { onlyZipEntry } from './zip-entry.ts'

/** bytes; ten times what the largest receivers send */
export const maxReportBytes = 10 * 1024 * 1024
/** Reports compress to a twentieth, bombs to a thousandth. */
const [maxRatioBytes, smallSize] = [200, 256 * 1024]

/** A report's text, and its language. */
interface ReportText {
  language: 'xml' | 'json'
  text: string
}

type Shape = 'gzip' | 'zip' | ReportText['language']

/** The type by the first bytes, because declared types and file names are often wrong. */
function shapeOf(bytes: Buffer): Shape | null {
  if (bytes.length > 2 && bytes.readUInt16BE(0) === 0x1f8b) return 'gzip'
  if (bytes.length > 4 && bytes.readUInt32BE(0) === 0x504b0304) return 'zip'
  const beginning = decodeText(bytes.subarray(0, 1024)).trimStart()
  if (beginning.startsWith('<')) return 'xml'
  return beginning.startsWith('{') ? 'json' : null
}

/** True if these bytes look like a report, so that failing to parse them is a fault. */
export const maybeReport = (bytes: Buffer): boolean => shapeOf(bytes) !== null

/**
 * The text of a report: plain, gzipped, or the only file in a zip archive.
 * @param limit bytes
 * @throws ReportFault for anything else, and if it unpacks to more than the limit
 */
export async function unpackReport(bytes: Buffer, limit = maxReportBytes): Promise<ReportText & { size: number }> {
  const shape = shapeOf(bytes)
  const report = shape === 'gzip' ? gunzip(bytes, limit) : shape === 'zip' ? await onlyZipEntry(bytes, limit) : bytes
  if (report.length > limit) throw new ReportFault(`The report has more than ${limit} bytes.`)
  if (report.length > smallSize && report.length > bytes.length * maxRatioBytes) {
    throw new ReportFault(`The report unpacks to more than ${maxRatioBytes} times its size.`)
  }
  const language = shapeOf(report)
  if (language !== 'xml' && language !== 'json') throw new ReportFault('The attachment is neither XML nor JSON, plain or in gzip or zip.')
  return { language, text: decodeText(report), size: report.length }
}

function gunzip(bytes: Buffer, limit: number): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: limit })
  } catch (error) {
    if (error instanceof RangeError) throw new ReportFault(`The gzip file unpacks to more than ${limit} bytes.`)
    throw new ReportFault('The gzip file is broken or truncated.')
  }
}

/** By the byte order mark, else the XML declaration, else as UTF-8. */
function decodeText(bytes: Buffer): string {
  const mark = bytes.length > 1 ? bytes.readUInt16BE(0) : 0
  if (mark === 0xfffe || mark === 0xfeff) return new TextDecoder(mark === 0xfffe ? 'utf-16le' : 'utf-16be').decode(bytes)
  const declared = /^\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w.:-]{1,40})["']/.exec(bytes.toString('latin1', 0, 256))?.[1] ?? 'utf-8'
  // A declaration readable as single bytes cannot be UTF-16.
  const label = /^utf-?16/i.test(declared) ? 'utf-8' : declared
  try {
    return new TextDecoder(label).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}
