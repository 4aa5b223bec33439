import { createHash } from 'node:crypto'
import type { ApiContext } from './api-state.ts'

/** A file that changes only with the version. */
export interface StaticFile {
  /** A media type. */
  type: string
  content: string | Buffer
  etag: string
}

export const staticFile = (type: string, content: string | Buffer): StaticFile => ({
  type,
  content,
  etag: `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`,
})

/** Answers with the file, or that the client has it already (RFC 9110 13.1.2). */
export function answerFile(ctx: ApiContext, { type, content, etag }: StaticFile): void {
  ctx.status = 200
  ctx.set('ETag', etag)
  ctx.set('Cache-Control', 'no-cache')
  ctx.set('X-Content-Type-Options', 'nosniff')
  if (ctx.fresh) {
    ctx.status = 304
    return
  }
  ctx.type = type
  ctx.body = content
}
