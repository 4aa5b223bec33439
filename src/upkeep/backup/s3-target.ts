import { setTimeout as pause } from 'node:timers/promises'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { AwsV4Signer } from 'aws4fetch'
import { messageOf, SternaError } from '../../platform/errors.ts'
import type { StoredFile, Target } from './target.ts'

interface S3Place {
  bucket: string
  /** Empty, or ends with `/`. */
  prefix: string
  endpoint: string
  region: string
  accessKeyId: string
  secretAccessKey: string
}

interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  key?: string
  query?: Record<string, string>
  body?: Buffer
}

/** A file of at most this many bytes is stored with one request; of a larger one, each part has as many, and later ones more. */
const partBytes = 8 * 1024 * 1024
/** S3 takes ten thousand parts: after this many, they grow by another eight mebibytes. */
const partsOfASize = 1_000
/** How long one request may take, ms: a part at 100 kB/s. */
const requestMs = 120_000
/** How far the server's clock may be off before it is allowed for, ms. */
const maxSkewMs = 60_000
/** The pauses before a request is repeated, ms. */
const pausesMs = [300, 1_500]
/** Answers that may be different the next time (besides failures of the connection). */
const passing = new Set([408, 429, 500, 502, 503, 504])
/** What an answer with a list, or an error, may hold. */
const maxAnswerBytes = 4 * 1024 * 1024

/** A prefix in a bucket of an S3-compatible store. Every request is signed (Signature Version 4), its body included. */
export class S3Target implements Target {
  readonly label: string
  readonly place: string
  readonly #place: S3Place
  /** How far the server's clock is ahead of ours, ms: it refuses signatures that are a quarter of an hour off. */
  #aheadMs = 0

  constructor(place: S3Place) {
    this.#place = place
    this.label = `s3://${place.bucket}/${place.prefix}`.replace(/\/$/, '')
    this.place = `${this.label} ${place.endpoint}`
  }

  /** There are no folders in a bucket, and nobody makes a bucket by accident. */
  async prepare(): Promise<void> {}

  async put(name: string, content: Readable): Promise<void> {
    const parts = inParts(content)
    const first = (await parts.next()).value ?? Buffer.alloc(0)
    const second = await parts.next()
    if (second.done) return void (await this.#text({ method: 'PUT', key: name, body: first }))
    const started = await this.#text({ method: 'POST', key: name, query: { uploads: '' } })
    const uploadId = fieldOf(started, 'UploadId')
    try {
      const tags = [await this.#putPart(name, uploadId, 1, first), await this.#putPart(name, uploadId, 2, second.value)]
      for await (const part of parts) tags.push(await this.#putPart(name, uploadId, tags.length + 1, part))
      await this.#complete(name, uploadId, tags)
    } catch (error) {
      await this.#text({ method: 'DELETE', key: name, query: { uploadId } }).catch(() => {})
      throw error
    }
  }

  async get(name: string): Promise<Readable> {
    const response = await this.#request({ method: 'GET', key: name })
    return Readable.fromWeb(response.body as unknown as ReadableStream<Uint8Array>)
  }

  async has(name: string): Promise<boolean> {
    try {
      await this.#request({ method: 'HEAD', key: name })
      return true
    } catch (error) {
      if (error instanceof SternaError && error.code === 'not_found') return false
      throw error
    }
  }

  async list(prefix: string): Promise<StoredFile[]> {
    const start = `${this.#place.prefix}${prefix}`
    const files: StoredFile[] = []
    for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
      const more = token === undefined ? {} : { 'continuation-token': token }
      const answer = await this.#text({ method: 'GET', query: { 'list-type': '2', prefix: start, ...more } })
      for (const [, entry = ''] of answer.matchAll(/<Contents>(.*?)<\/Contents>/gs)) {
        const name = fieldOf(entry, 'Key').slice(this.#place.prefix.length)
        if (isPlain(name)) files.push({ name, bytes: Number(fieldOf(entry, 'Size')) })
      }
      token = /<IsTruncated>true</.test(answer) ? fieldOf(answer, 'NextContinuationToken') : undefined
    }
    return files.sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  async remove(name: string): Promise<void> {
    await this.#text({ method: 'DELETE', key: name })
  }

  async #putPart(key: string, uploadId: string, number: number, body: Buffer): Promise<string> {
    const response = await this.#request({ method: 'PUT', key, query: { partNumber: String(number), uploadId }, body })
    await response.arrayBuffer()
    return response.headers.get('etag') ?? ''
  }

  async #complete(key: string, uploadId: string, tags: string[]): Promise<void> {
    const parts = tags.map((tag, place) => `<Part><PartNumber>${place + 1}</PartNumber><ETag>${xmlText(tag)}</ETag></Part>`)
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
    const answer = await this.#text({ method: 'POST', key, query: { uploadId }, body })
    // It begins to answer before it is done, with status 200 even if it fails.
    if (answer.includes('<Error>')) throw this.#refusal('POST', key, answer)
  }

  async #text(request: S3Request): Promise<string> {
    return boundedText(await this.#request(request))
  }

  /** Repeats a request that may succeed the next time. All of them may be repeated. */
  async #request(request: S3Request): Promise<Response> {
    for (let tries = 0; ; tries++) {
      const pauseMs = pausesMs[tries]
      try {
        const response = await this.#send(request)
        if (response.ok) return response
        const answer = await boundedText(response)
        if (pauseMs !== undefined && response.status === 403 && this.#noteClock(response)) continue
        if (pauseMs === undefined || !passing.has(response.status))
          throw this.#refusal(request.method, request.key, answer, response.status)
      } catch (error) {
        if (error instanceof SternaError) throw error
        if (pauseMs === undefined) throw this.#unreachable(error)
      }
      await pause(pauseMs)
    }
  }

  /** True if the server's clock is another than it was taken for. */
  #noteClock({ headers }: Response): boolean {
    const aheadMs = Date.parse(headers.get('date') ?? '') - Date.now()
    if (!(Math.abs(aheadMs - this.#aheadMs) > maxSkewMs)) return false
    this.#aheadMs = aheadMs
    return true
  }

  async #send({ method, key, query = {}, body }: S3Request): Promise<Response> {
    const { bucket, prefix, endpoint, ...access } = this.#place
    const url = new URL(`${endpoint}/${bucket}${key === undefined ? '' : `/${prefix}${key}`}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const hash = await sha256(body ?? Buffer.alloc(0))
    const datetime = new Date(Date.now() + this.#aheadMs).toISOString().replace(/[:-]|\.\d{3}/g, '')
    const given = { datetime, method, url: url.href, headers: { 'x-amz-content-sha256': hash }, ...access, service: 's3' }
    const signed = await new AwsV4Signer(given).sign()
    const content = body === undefined ? {} : { body: new Uint8Array(body) }
    return fetch(signed.url, { method, headers: signed.headers, ...content, redirect: 'error', signal: AbortSignal.timeout(requestMs) })
  }

  #refusal(method: string, key: string | undefined, answer: string, status = 200): SternaError {
    const code = fieldOf(answer, 'Code') || `status ${status}`
    const what = `${method} ${this.label}${key === undefined ? '' : `/${key}`}`
    // The answer to HEAD has no body.
    if (code === 'NoSuchKey' || (method === 'HEAD' && status === 404))
      return new SternaError('not_found', `There is no ${key} in ${this.label}.`)
    const advice =
      'Check the bucket, backup.s3_endpoint, backup.s3_region, and whether the access key may list, read, write and delete there.'
    return new SternaError('invalid_state', `The S3 server refused ${what}: ${code} ${fieldOf(answer, 'Message')}. ${advice}`)
  }

  #unreachable(error: unknown): SternaError {
    const why = messageOf((error as { cause?: unknown }).cause ?? error)
    const advice = 'Check backup.s3_endpoint and the network.'
    return new SternaError('invalid_state', `The S3 server ${this.#place.endpoint} cannot be reached: ${why}. ${advice}`, { cause: error })
  }
}

/** False for names of others that the path of a request would not keep as they are, so that it would reach another object. */
const isPlain = (name: string): boolean => !/[\\?#%\p{Cc}]|(?:^|\/)\.{0,2}(?:\/|$)/u.test(name)

/** Splits content into what one request stores; holds no more than one part. */
async function* inParts(content: Readable): AsyncGenerator<Buffer, undefined> {
  let waiting: Buffer[] = []
  let bytes = 0
  let count = 0
  for await (const chunk of content as AsyncIterable<Buffer>) {
    waiting.push(chunk)
    bytes += chunk.length
    if (bytes < partBytes * (1 + Math.floor(count / partsOfASize))) continue
    yield Buffer.concat(waiting)
    count++
    waiting = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}

async function boundedText(response: Response): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += part.length
    if (bytes > maxAnswerBytes) throw new SternaError('invalid_state', 'The S3 server answered with more than four mebibytes.')
    parts.push(part)
  }
  return Buffer.concat(parts).toString()
}

async function sha256(bytes: Buffer): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', new Uint8Array(bytes))).toString('hex')
}

const entities: Record<string, string> = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"', '&#34;': '"', '&apos;': "'" }

/** The text of the first element with this name; empty if there is none. S3's answers nest no element in one of its own name. */
function fieldOf(xml: string, name: string): string {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? ''
  return text.replace(/&(?:lt|gt|amp|quot|#34|apos);/g, (entity) => entities[entity] ?? entity)
}

const xmlText = (text: string): string => text.replace(/[<>&]/g, (character) => `&#${character.charCodeAt(0)};`)
