import type { Readable } from 'node:stream'
import type { ReplyHeaders } from './call.ts'

/** An answer in another form than the JSON that is declared first: another status, a page, a file, a stream. */
export class RawAnswer {
  readonly body: object | string | Buffer | Readable | null
  /** Default: that of the first answer declared. */
  readonly status: number | undefined
  /** The Content-Type field; without it, the body is JSON. */
  readonly type: string | undefined
  /** Offers the body as a download under this name. */
  readonly filename: string | undefined
  /** bytes of a stream, where they are known */
  readonly size: number | undefined
  /** Identifies what changes only with the version, so that clients need not fetch it again. */
  readonly etag: string | undefined

  constructor(
    body: RawAnswer['body'],
    { status, type, filename, size, etag }: { [Name in 'status' | 'type' | 'filename' | 'size' | 'etag']?: RawAnswer[Name] } = {},
  ) {
    this.body = body
    this.status = status
    this.type = type
    this.filename = filename
    this.size = size
    this.etag = etag
  }
}

/** A download of what a stranger wrote: whatever it is, no browser may show or run it under our origin. */
export function downloadOfStranger(
  reply: ReplyHeaders,
  body: Buffer | Readable,
  options: { type: string; filename: string; size?: number },
): RawAnswer {
  reply.set('Content-Security-Policy', "default-src 'none'; sandbox")
  return new RawAnswer(body, options)
}
