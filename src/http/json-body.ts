import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { SternaError } from '../errors.ts'
import type { ApiContext } from './api-state.ts'

/** bytes; 25 MiB of message in base64, and some room */
export const bodyLimit = 35 * 1024 * 1024
/** Deeper nesting than anything the API takes. */
const deepest = 64

/**
 * Reads the request's JSON. With `optional`, a request without a body gives undefined.
 * What comes back is still anything at all: hand it to `validate`.
 * @throws SternaError `unsupported_media_type`, `payload_too_large`, `invalid_json`
 */
export async function jsonBody(ctx: ApiContext, { optional = false } = {}): Promise<unknown> {
  const { req } = ctx
  if (!optional) checkMediaType(req)
  const body = await readBody(req)
  ctx.state.rawBody = body
  if (body.length === 0) {
    if (optional) return undefined
    throw new SternaError('invalid_json', 'The request has no body. Send a JSON object.')
  }
  if (optional) checkMediaType(req)
  return parseJson(body)
}

/** The bytes `jsonBody` has read, for comparing one request with another; empty where it has not been called. */
export const rawBody = (ctx: ApiContext): Buffer => ctx.state.rawBody ?? Buffer.alloc(0)

function checkMediaType(req: IncomingMessage): void {
  const type = req.headers['content-type'] ?? ''
  // `application/json` alone is what nearly everybody sends.
  if (type !== 'application/json' && !/^application\/json[ \t]*(;[ \t]*charset="?utf-?8"?[ \t]*)?;?[ \t]*$/i.test(type)) {
    const sent = type === '' ? 'no Content-Type' : 'another Content-Type'
    throw new SternaError('unsupported_media_type', `Send JSON in UTF-8 with "Content-Type: application/json"; the request has ${sent}.`)
  }
  const coding = req.headers['content-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new SternaError('unsupported_media_type', 'Send the body without Content-Encoding: compressed requests are not taken.')
  }
}

const tooLarge = (): SternaError =>
  new SternaError('payload_too_large', `The request body is larger than ${bodyLimit / 1024 / 1024} MiB. Send smaller attachments.`)

function readBody(req: IncomingMessage): Promise<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > bodyLimit) return Promise.reject(tooLarge())
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let size = 0
  const settle = (): void => {
    req.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
  }
  const onData = (chunk: Buffer): void => {
    size += chunk.length
    if (size <= bodyLimit) return void chunks.push(chunk)
    settle()
    chunks.length = 0
    reject(tooLarge())
  }
  const onEnd = (): void => {
    settle()
    resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size))
  }
  const onGone = (): void => {
    settle()
    reject(new SternaError('invalid_json', 'The connection ended before the whole body had arrived.'))
  }
  req.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
  return promise
}

function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new SternaError('invalid_json', 'The request body is not valid UTF-8.')
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch {
    // The parser's own message quotes the input, which may hold secrets.
    throw new SternaError('invalid_json', 'The request body is not valid JSON.')
  }
  if (isDeeperThan(value, deepest)) throw new SternaError('invalid_json', `The JSON is nested more than ${deepest} levels deep.`)
  return value
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false
  if (levels === 0) return true
  for (const item of Object.values(value)) {
    if (item !== null && typeof item === 'object' && isDeeperThan(item, levels - 1)) return true
  }
  return false
}
