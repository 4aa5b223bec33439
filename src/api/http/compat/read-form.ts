import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import type { IncomingMessage } from 'node:http'
import { SternaError } from '../../../platform/errors.ts'
import { bodyLimit } from '../../operation/body-limits.ts'
import type { Form } from './form-fields.ts'

/** More than any request of sense has. */
const limits = {
  fields: 2000,
  files: 100,
  parts: 2100,
  headerPairs: 20,
  headerSize: 8 * 1024,
  fieldNameSize: 1000,
  fieldSize: bodyLimit,
  fileSize: bodyLimit,
}

const formType = /^(?:multipart\/form-data *;.*boundary=|application\/x-www-form-urlencoded *(?:;|$))/is

/**
 * Reads a form (RFC 7578), or what a page's form sends by default, as a whole. It may be as large as a request in JSON.
 * @throws SternaError `unsupported_media_type`, `payload_too_large`, `validation_error` where it is broken off or has too
 *   many parts
 */
export function readForm(req: IncomingMessage): Promise<Form> {
  const type = req.headers['content-type'] ?? ''
  const coding = req.headers['content-encoding']
  if (!formType.test(type) || (coding !== undefined && coding.toLowerCase() !== 'identity')) {
    return Promise.reject(
      new SternaError('unsupported_media_type', 'Send a form: multipart/form-data or application/x-www-form-urlencoded, not compressed.'),
    )
  }
  if (Number(req.headers['content-length'] ?? 0) > bodyLimit) return Promise.reject(tooLarge())
  const parser = parserFor(req, type)
  return parser ? collected(req, parser) : Promise.reject(broken())
}

function parserFor(req: IncomingMessage, type: string): BusboyInstance | undefined {
  try {
    return new Busboy({
      headers: { ...req.headers, 'content-type': type },
      limits,
      isPartAFile: (_, __, filename) => filename !== undefined,
    })
  } catch {
    // Its only reason is a type that it cannot make anything of.
    return undefined
  }
}

/** What a part says of its file; the middle one is its encoding, of no use in a form (RFC 7578 4.7). */
type FileHeader = [filename: string | undefined, encoding: string, contentType: string]

function collected(req: IncomingMessage, parser: BusboyInstance): Promise<Form> {
  const { promise, resolve, reject } = Promise.withResolvers<Form>()
  const form: Form = { fields: [], files: [] }
  let size = 0
  const refuse = (error: SternaError): void => {
    req.unpipe(parser)
    req.off('data', count)
    req.resume()
    form.fields.length = 0
    form.files.length = 0
    reject(error)
  }
  const count = (chunk: Buffer): void => {
    size += chunk.length
    if (size > bodyLimit) refuse(tooLarge())
  }
  const tooMany = (): void => refuse(new SternaError('validation_error', 'The form has too many parts.'))
  parser.on('field', (name: string | undefined, value: string) => void form.fields.push([name ?? '', value]))
  parser.on('file', (field: string | undefined, stream: BusboyFileStream, ...[filename, , contentType]: FileHeader) => {
    const pieces: Buffer[] = []
    stream.on('data', (piece: Buffer) => pieces.push(piece))
    stream.on('error', () => refuse(broken()))
    stream.on('end', () => form.files.push({ field: field ?? '', filename: filename ?? '', contentType, content: Buffer.concat(pieces) }))
  })
  parser.on('partsLimit', tooMany).on('filesLimit', tooMany).on('fieldsLimit', tooMany)
  parser.on('error', () => refuse(broken()))
  parser.on('finish', () => resolve(form))
  // Nothing follows a connection that has ended too early, so the parser would wait for ever.
  req.on('close', () => req.complete || refuse(broken()))
  req.on('data', count)
  req.pipe(parser)
  return promise
}

const broken = (): SternaError =>
  new SternaError('validation_error', 'The form cannot be read, or the connection ended before all of it had arrived.')

const tooLarge = (): SternaError =>
  new SternaError('payload_too_large', `The request body is larger than ${bodyLimit / 1024 / 1024} MiB. Send smaller attachments.`)
