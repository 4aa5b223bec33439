import type { Phase } from '../../mail-out/delivery/outcome.ts'
import { SternaError } from '../../platform/errors.ts'
import { enhancedStatusOf, type Reply } from '../../platform/smtp/reply.ts'

/** A reply as a log or a bounce shows it. */
export interface ReplyLine {
  /** The name of the host, lower case; null if it is not known. */
  host: string | null
  /** Null if it is not known, as in a bounce. */
  phase: Phase | null
  reply: Reply
}

/** What else a phase is called, without spaces and signs. */
const phaseNames: Record<Phase, string[]> = {
  banner: ['banner', 'connect', 'connection', 'connected', 'greeting', 'initial'],
  ehlo: ['ehlo', 'helo', 'hello', 'auth'],
  starttls: ['starttls', 'tls'],
  mail: ['mail', 'mailfrom', 'from', 'sender'],
  rcpt: ['rcpt', 'rcptto', 'to', 'recipient'],
  data: ['data', 'datacommand'],
  dot: [
    'dot',
    'eod',
    'eom',
    'endofdata',
    'enddata',
    'dataend',
    'afterdata',
    'datadot',
    'finaldot',
    'message',
    'body',
    'content',
    'bdat',
    'quit',
  ],
}
const unknownPhases = ['', 'report', 'dsn', 'bounce', 'unknown', 'any']

/** Reads a line `{"host", "phase", "reply"}`. @param place for errors @throws SternaError `invalid_parameter` */
export function readReplyLine(line: string, place: string): ReplyLine {
  const { host = null, phase = null, reply } = fieldsOf(line, place)
  if (!isTextOrNull(host) || !isTextOrNull(phase)) throw fault(place, '"host" and "phase" must be texts, or null if they are not known')
  const read = typeof reply === 'string' ? readReply(reply) : null
  if (!read) throw fault(place, '"reply" must be a text that begins with a code of three digits')
  return { host: host?.trim().toLowerCase() || null, phase: phaseOf(phase ?? '', place), reply: read }
}

function fieldsOf(line: string, place: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    value = null
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw fault(place, 'the line must be a JSON object with "host", "phase" and "reply"')
  return value as Record<string, unknown>
}

const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string'

function phaseOf(named: string, place: string): Phase | null {
  const name = named.toLowerCase().replace(/[^a-z]/g, '')
  for (const [phase, names] of Object.entries(phaseNames)) if (names.includes(name)) return phase as Phase
  if (unknownPhases.includes(name)) return null
  throw fault(place, `"phase" must be one of ${Object.keys(phaseNames).join(', ')}, or null if it is not known`)
}

/** A reply whose lines may have been joined by spaces; null if it has no code. */
function readReply(text: string): Reply | null {
  const code = /^\s*([2-5]\d\d)(?!\d)/.exec(text)?.[1]
  if (code === undefined) return null
  const rest = text.slice(text.indexOf(code) + code.length).replace(/^[ -]/, '')
  const again = new RegExp(String.raw`\s+${code}(?:-|[ ](?=${code.charAt(0)}\.\d)|[ ](?=\S))`, 'g')
  const lines = rest.replace(again, '\n').trim()
  const status = enhancedStatusOf(Number(code), lines.replace(/^#/, ''))
  return { code: Number(code), enhancedStatus: status ?? quotedStatus(Number(code), lines), text: lines }
}

/** The first status of a later line, or one behind a `#`, as qmail writes it. */
function quotedStatus(code: number, lines: string): string | null {
  for (const line of lines.split('\n')) {
    const status = enhancedStatusOf(code, line)
    if (status !== null) return status
  }
  return /\(#([245]\.\d{1,3}\.\d{1,3})\)/.exec(lines)?.[1] ?? null
}

const fault = (place: string, what: string): SternaError => new SternaError('invalid_parameter', `${place}: ${what}.`)
