import { fieldNamed, parseHeaderBlock, type HeaderField } from './header-block.ts'

/** A message or a part of one, by positions in the message. */
export interface Entity {
  fields: HeaderField[]
  /** Of its header. */
  start: number
  bodyStart: number
  /** The range of its body, without the CRLF that belongs to the boundary. */
  end: number
}

/** How deeply nested parts are searched; mail programs use up to four levels. */
export const deepest = 8
/** How many parts of a message are examined. */
export const maxParts = 1000
/** A message with one of these fields was signed in its present form. */
const signatures = new Set(['dkim-signature', 'arc-message-signature'])
const sealed = /^(?:multipart\/(?:signed|encrypted)|application\/(?:x-)?pkcs7-)/

/** The signatures that somebody has already put over these bytes. */
export const signaturesIn = (fields: readonly HeaderField[]): HeaderField[] => fields.filter(({ key }) => signatures.has(key))

/** True if somebody has already signed these bytes. */
export const cameSigned = (fields: readonly HeaderField[]): boolean => signaturesIn(fields).length > 0

/** True for parts that a signature or an encryption covers, so they must not be changed. */
export const isSealed = (type: string): boolean => sealed.test(type)

/** The value of the first field with this name in lower case. */
export const valueOf = (fields: readonly HeaderField[], key: string): string | undefined => fieldNamed(fields, key)?.value

/** The entity in this range; null if its header cannot be parsed. */
export function entityAt(message: Buffer, { start, end }: Pick<Entity, 'start' | 'end'>): Entity | null {
  const block = parseHeaderBlock(message.subarray(start, end))
  return block.ok ? { fields: block.fields, start, bodyStart: start + block.bodyOffset, end } : null
}

/**
 * The parts of a multipart (RFC 2046 5.1.1), except those with a header that cannot be parsed and those above the limit; none if it
 * declares no boundary. Takes linear time.
 */
export function* childrenOf(message: Buffer, { fields, bodyStart, end }: Entity): Generator<Entity, void, undefined> {
  const boundary = mediaTypeOf(fields).parameters.get('boundary')
  if (!boundary) return
  for (const span of spansBetween(message, { start: bodyStart, end }, boundary)) {
    const child = entityAt(message, span)
    if (child) yield child
  }
}

type Span = Pick<Entity, 'start' | 'end'>

/** Without a closing boundary, the last part ends with the multipart. */
function* spansBetween(message: Buffer, { start, end }: Span, boundary: string): Generator<Span, void, undefined> {
  // The body follows the empty line.
  const delimiter = Buffer.from(`\n--${boundary}`, 'latin1')
  const searched = message.subarray(0, end)
  let partStart: number | null = null
  let left = maxParts
  for (let at = searched.indexOf(delimiter, start - 1); at !== -1; at = searched.indexOf(delimiter, at + 1)) {
    const line = lineBehind(searched, at + delimiter.length)
    if (!line) continue
    if (partStart !== null) {
      if (left-- === 0) return
      yield { start: partStart, end: Math.max(partStart, at - 1) }
    }
    if (line.isClosing) return
    partStart = line.next
  }
  if (partStart !== null) yield { start: partStart, end }
}

/** What follows a delimiter on its line; null if it is the beginning of another, longer one. */
function lineBehind(message: Buffer, start: number): { isClosing: boolean; next: number } | null {
  const isClosing = message[start] === 45 && message[start + 1] === 45
  let at = isClosing ? start + 2 : start
  while (message[at] === 32 || message[at] === 9) at++
  if (at >= message.length) return { isClosing, next: message.length }
  return message[at] === 13 && message[at + 1] === 10 ? { isClosing, next: at + 2 } : null
}

/** One parameter of RFC 2045 5.1, quoted or not. */
const parameter = /;\s*([\w!#$&^.+%-]{1,60})\s*=\s*(?:"((?:[^"\\]|\\.){0,1000})"|([^\s;"]{1,1000}))/y

/** From its Content-Type, in lower case except for the parameter values; `text/plain` if there is none. */
export function mediaTypeOf(fields: readonly HeaderField[]): { type: string; parameters: Map<string, string> } {
  const value = valueOf(fields, 'content-type') ?? 'text/plain'
  const semicolon = value.indexOf(';')
  const type = (semicolon === -1 ? value : value.slice(0, semicolon)).trim().toLowerCase()
  const parameters = new Map<string, string>()
  parameter.lastIndex = semicolon === -1 ? value.length : semicolon
  for (let found = parameter.exec(value); found; found = parameter.exec(value)) {
    const [, name = '', quoted, plain = ''] = found
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? plain)
  }
  return { type, parameters }
}
