import { isHostname } from '../../platform/config/setting-types.ts'

/** What a recipient domain requires of those that send to it (RFC 8461 3.2). */
export interface StsPolicy {
  /** `testing`: what it would refuse is reported only. `none`: it requires nothing any more. */
  mode: 'enforce' | 'testing' | 'none'
  /** Names of MX hosts in lower case; `*.` in front stands for one label. */
  mx: string[]
  /** How long it holds after it was fetched, ms. */
  maxAgeMs: number
}

/** A text that is no policy; its message says why, as the end of a sentence. */
export class StsFault extends Error {}

/** RFC 8461 3.2, seconds. */
const mostMaxAge = 31_557_600
/** What is said to hold for a shorter time holds this long, s: or it would be fetched for each message. */
const leastMaxAge = 300
/** As many MX hosts as one answer of the DNS has room for. */
const maxNames = 500

/**
 * The id of the policy that the TXT records of `_mta-sts.DOMAIN` announce (RFC 8461 3.1); null if they announce none, or more than one, or
 * the record is not valid.
 */
export function announcedId(records: string[]): string | null {
  const [record, another] = records.filter((text) => /^v=STSv1\s*;/.test(text))
  if (record === undefined || another !== undefined) return null
  const fields = record.split(';').map((field) => field.trim())
  if (fields.at(-1) === '') fields.pop()
  if (!fields.every((field) => /^[a-z0-9][a-z0-9_.-]{0,31}=[\x21-\x3a\x3c\x3e-\x7e]+$/i.test(field))) return null
  const ids = fields.filter((field) => field.startsWith('id='))
  return ids.length === 1 ? (/^id=([a-z0-9]{1,32})$/i.exec(ids[0] ?? '')?.[1] ?? null) : null
}

/**
 * Reads the text of a policy. Of a field that is given twice the first counts, and unknown ones are ignored (RFC 8461 3.2).
 * @throws StsFault if it is none
 */
export function parseStsPolicy(text: string): StsPolicy {
  const first = new Map<string, string>()
  const mx: string[] = []
  const lines = text.split(/\r?\n/)
  for (const [place, line] of lines.entries()) {
    if (line.trim() === '') continue
    const colon = line.indexOf(':')
    const [name, value] = [line.slice(0, Math.max(0, colon)).trimEnd(), line.slice(colon + 1).trim()]
    if (!/^[a-z0-9][a-z0-9_.-]{0,31}$/i.test(name)) throw new StsFault(`line ${place + 1} is not a field with a value: ${quoted(line)}`)
    if (name === 'mx') mx.push(parseMxPattern(value))
    else if (!first.has(name)) first.set(name, value)
  }
  if (first.get('version') !== 'STSv1') throw new StsFault(`its version is ${quoted(first.get('version'))}, not STSv1`)
  const mode = first.get('mode')
  if (mode !== 'enforce' && mode !== 'testing' && mode !== 'none')
    throw new StsFault(`its mode is ${quoted(mode)}, not enforce, testing or none`)
  const maxAge = first.get('max_age')
  if (!/^\d{1,10}$/.test(maxAge ?? '')) throw new StsFault(`its max_age is ${quoted(maxAge)}, not a number of seconds`)
  if (mx.length === 0 && mode !== 'none') throw new StsFault('it names no mx')
  if (mx.length > maxNames) throw new StsFault(`it has ${mx.length} mx fields; at most ${maxNames} are allowed`)
  return { mode, mx, maxAgeMs: Math.min(Math.max(Number(maxAge), leastMaxAge), mostMaxAge) * 1000 }
}

function parseMxPattern(value: string): string {
  const pattern = value.toLowerCase()
  if (isHostname(pattern.replace(/^\*\./, ''))) return pattern
  throw new StsFault(`its mx ${quoted(value)} is not a host name, with or without *. in front`)
}

const quoted = (text: string | undefined): string => (text === undefined ? 'missing' : JSON.stringify(text.slice(0, 100)))

/** True if the policy lists this MX host, in lower case (RFC 8461 4.1): `*.` stands for exactly one label. */
export function listsMx({ mx }: Pick<StsPolicy, 'mx'>, host: string): boolean {
  const dot = host.indexOf('.')
  const ofParent = dot > 0 ? `*${host.slice(dot)}` : host
  return mx.some((pattern) => pattern === host || pattern === ofParent)
}

/** How a policy fails to list a host, so that its owner finds what to correct. */
export function whyUnlisted({ mx }: Pick<StsPolicy, 'mx'>, host: string): string {
  const wide = mx.find((pattern) => pattern.startsWith('*.') && host.endsWith(pattern.slice(1)))
  const named = mx.length > 3 ? `${mx.slice(0, 3).join(', ')} and ${mx.length - 3} more` : mx.join(', ')
  return wide === undefined ? `it lists ${named}` : `${wide} stands for names with one label in place of the *`
}
