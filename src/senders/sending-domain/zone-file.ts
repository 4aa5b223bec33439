/** A record as it is written into a zone file; names without the final dot. */
export interface ZoneRecord {
  name: string
  type: string
  value: string
  /** Preference of an MX record. */
  priority?: number | undefined
}

/** Long enough for a cache to help, short enough to correct a mistake. */
const ttlSeconds = 3600
/** bytes; RFC 1035 3.3 */
const maxStringLength = 255

/**
 * The records as lines of a zone file (RFC 1035 5.1), one each: full names, so that it does not matter which zone they are read into, and
 * no directives or comments, which not every importer understands.
 */
export const zoneFile = (records: readonly ZoneRecord[]): string =>
  records.map((record) => `${record.name}.\t${ttlSeconds}\tIN\t${record.type}\t${dataOf(record)}\n`).join('')

function dataOf({ type, value, priority = 10 }: ZoneRecord): string {
  if (type === 'TXT') return stringsOf(value)
  if (type === 'MX') return `${priority} ${value}.`
  return type === 'CNAME' || type === 'PTR' ? `${value}.` : value
}

/** A text as quoted strings of at most 255 bytes each; a reader puts them together again. */
function stringsOf(text: string): string {
  const bytes = Buffer.from(text)
  const strings: string[] = []
  for (let start = 0; start === 0 || start < bytes.length; start += maxStringLength) {
    strings.push(`"${[...bytes.subarray(start, start + maxStringLength)].map(escaped).join('')}"`)
  }
  return strings.join(' ')
}

function escaped(byte: number): string {
  const char = String.fromCharCode(byte)
  if (char === '"' || char === '\\') return `\\${char}`
  return byte >= 0x20 && byte < 0x7f ? char : `\\${String(byte).padStart(3, '0')}`
}
