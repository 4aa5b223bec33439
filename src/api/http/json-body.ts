import type { IncomingMessage } from 'node:http'
import { SternaError } from '../../platform/errors.ts'
import { JsonShape } from '../../platform/json-shape.ts'
import { bodyLimit, sizeText, smallBodyLimit, standardBodyLimit } from '../operation/body-limits.ts'
import { parseJson } from '../../platform/parse-json.ts'

/**
 * Reads the JSON of the request, at most `limit` bytes. With `optional`, returns undefined for a request without a body. The result can
 * still be anything: pass it to `validate`.
 * @throws SternaError `unsupported_media_type`, `payload_too_large`, `invalid_json`
 */
export async function jsonBody(
  req: IncomingMessage,
  { optional = false, limit = standardBodyLimit, parse = parseJson }: JsonBodyOptions = {},
): Promise<unknown> {
  if (!optional) return parse(await jsonBytes(req, { limit }))
  const body = await readBody(req, { limit })
  if (body.length === 0) return undefined
  checkMediaType(req)
  return parse(body)
}

interface JsonBodyOptions {
  optional?: boolean
  limit?: number
  /** Where it is parsed; default: here, as `parseJson` does. */
  parse?: (body: Buffer) => unknown
}

interface BodyBounds {
  /** bytes; default: `standardBodyLimit` */
  limit?: number
  /** Whether it may have files as lists of their bytes, millions of values: whoever parses it then makes nobody wait. */
  listsBytes?: boolean
}

/**
 * The bytes of the request's JSON, for `parseJson`.
 * @throws SternaError `unsupported_media_type`, `payload_too_large`, `invalid_json`
 */
export async function jsonBytes(req: IncomingMessage, bounds: BodyBounds = {}): Promise<Buffer> {
  checkMediaType(req)
  const body = await readBody(req, bounds)
  if (body.length === 0) throw new SternaError('invalid_json', 'The request has no body. Send a JSON object.')
  return body
}

/** characters; thousands of spaces would make the pattern backtrack for long */
const maxTypeLength = 100

function checkMediaType(req: IncomingMessage): void {
  const type = req.headers['content-type'] ?? ''
  // Nearly everybody sends plain `application/json`.
  if (
    type !== 'application/json' &&
    (type.length > maxTypeLength || !/^application\/json[ \t]*(;[ \t]*charset="?utf-?8"?[ \t]*)?;?[ \t]*$/i.test(type))
  ) {
    const sent = type === '' ? 'no Content-Type' : 'another Content-Type'
    throw new SternaError('unsupported_media_type', `Send JSON in UTF-8 with "Content-Type: application/json"; the request has ${sent}.`)
  }
  const coding = req.headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new SternaError('unsupported_media_type', 'Send the body without Content-Encoding: compressed requests are not accepted.')
  }
}

const tooLarge = (limit: number): SternaError =>
  new SternaError(
    'payload_too_large',
    `The request body is larger than ${sizeText(limit)}, the limit here.${limit === bodyLimit ? ' Send smaller attachments.' : ''}`,
  )

/** bytes; a smaller body does not go to another thread, to which memory that it shares with others would be copied whole */
const sharesMemory = 16 * 1024

function joined(chunks: Buffer[], size: number): Buffer {
  if (size <= sharesMemory) return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)
  const body = Buffer.allocUnsafeSlow(size)
  let end = 0
  for (const chunk of chunks) end += chunk.copy(body, end)
  return body
}

const gone = (): SternaError => new SternaError('invalid_json', 'The connection ended before the whole body had arrived.')

function readBody(req: IncomingMessage, { limit = standardBodyLimit, listsBytes = false }: BodyBounds): Promise<Buffer> {
  const length = Number(req.headers['content-length'] ?? 0)
  if (length > limit) return Promise.reject(tooLarge(limit))
  if (req.destroyed) return Promise.reject(gone())
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const shape = new JsonShape({ listsBytes })
  // A large body is put together as it comes: several that end together would make one long turn.
  const whole = length > standardBodyLimit ? Buffer.allocUnsafeSlow(length) : null
  const chunks: Buffer[] = []
  let size = 0
  const settle = (): void => {
    req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
  }
  const refuse = (error: SternaError): void => {
    settle()
    chunks.length = 0
    reject(error)
  }
  const onData = (chunk: Buffer): void => {
    if (size + chunk.length > limit) return refuse(tooLarge(limit))
    const fault = shape.add(chunk)
    if (fault !== null) return refuse(new SternaError('invalid_json', fault))
    if (whole) chunk.copy(whole, size)
    else chunks.push(chunk)
    size += chunk.length
  }
  const onEnd = (): void => {
    settle()
    resolve(whole ?? joined(chunks, size))
  }
  const onGone = (): void => refuse(gone())
  req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
  return promise
}

/**
 * A body of any media type as text.
 * @throws SternaError `payload_too_large`, `invalid_json` if the client left before it had sent all of it
 */
export async function textBody(req: IncomingMessage, limit = smallBodyLimit): Promise<string> {
  if (Number(req.headers['content-length'] ?? 0) > limit) throw tooLarge(limit)
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of req as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > limit) throw tooLarge(limit)
      chunks.push(chunk)
    }
  } catch (error) {
    throw error instanceof SternaError ? error : gone()
  }
  return Buffer.concat(chunks).toString('utf8')
}
