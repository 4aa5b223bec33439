import { fieldsNamed, parseHeaderBlock, type HeaderField } from './header-block.ts'

/** A message or a part of one, by its places in the message. */
export interface Entity {
  fields: HeaderField[]
  /** Of its header. */
  start: number
  bodyStart: number
  /** Of its body, without the CRLF that belongs to the boundary. */
  end: number
}

/** Levels of nested parts that are looked into; mail programs write four. */
export const deepest = 8
/** Parts of a message that are looked at. */
export const mostParts = 1000
/** A message with one of these was signed as it is. */
const signatures = ['DKIM-Signature', 'ARC-Message-Signature']
const sealed = /^(?:multipart\/(?:signed|encrypted)|application\/(?:x-)?pkcs7-)/

/** True of a message whose bytes somebody has signed already. */
export const cameSigned = (fields: readonly HeaderField[]): boolean => signatures.some((name) => fieldsNamed(fields, name).length > 0)

/** True of parts that a signature or an encryption covers, so that they may not be changed. */
export const isSealed = (type: string): boolean => sealed.test(type)

export const valueOf = (fields: readonly HeaderField[], name: string): string | undefined => fieldsNamed(fields, name)[0]?.value

/** The entity that lies there; null where its header cannot be read. */
export function entityAt(message: Buffer, { start, end }: Pick<Entity, 'start' | 'end'>): Entity | null {
  const block = parseHeaderBlock(message.subarray(start, end))
  return block.ok ? { fields: block.fields, start, bodyStart: start + block.bodyOffset, end } : null
}

/**
 * The parts of a multipart (RFC 2046 5.1.1), without those whose header cannot be read, and those beyond as many as are looked at;
 * none where it names no boundary. Linear in its size.
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

/** The last part of one that has no closing boundary ends with it. */
function* spansBetween(message: Buffer, { start, end }: Span, boundary: string): Generator<Span, void, undefined> {
  // Before the body stands the empty line.
  const delimiter = Buffer.from(`\n--${boundary}`, 'latin1')
  const searched = message.subarray(0, end)
  let partStart: number | null = null
  let left = mostParts
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

/** What follows a delimiter on its line; null where it is the beginning of another, longer one. */
function lineBehind(message: Buffer, start: number): { isClosing: boolean; next: number } | null {
  const isClosing = message[start] === 45 && message[start + 1] === 45
  let at = isClosing ? start + 2 : start
  while (message[at] === 32 || message[at] === 9) at++
  if (at >= message.length) return { isClosing, next: message.length }
  return message[at] === 13 && message[at + 1] === 10 ? { isClosing, next: at + 2 } : null
}

/** One parameter of RFC 2045 5.1, quoted or not. */
const parameter = /;\s*([\w!#$&^.+%-]{1,60})\s*=\s*(?:"((?:[^"\\]|\\.){0,1000})"|([^\s;"]{1,1000}))/y

/** Of its Content-Type, both in lower case but for the values; `text/plain` where there is none. */
export function mediaTypeOf(fields: readonly HeaderField[]): { type: string; parameters: Map<string, string> } {
  const value = valueOf(fields, 'Content-Type') ?? 'text/plain'
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
