import { Readable } from 'node:stream'
import type { Body, Headers, ReplyHeaders, UncheckedCall } from '../operation/call.ts'
import { RawAnswer } from '../operation/raw-answer.ts'
import type { Caller } from '../operation/caller.ts'
import { csvNameOf, namesOf, needsKey, type Operation } from '../operation/operation.ts'
import { standardBodyLimit } from '../operation/body-limits.ts'
import { perform, type PerformServices } from '../operation/perform.ts'
import { parseJson } from '../../platform/parse-json.ts'
import type { ApiContext, ApiRoutes } from './api-state.ts'
import { smallBody } from '../large-work/small-source.ts'
import type { BodyBudget } from './body-budget.ts'
import { jsonBody, jsonBytes, textBody } from './json-body.ts'
import type { LargeWorker } from '../large-work/large-worker.ts'
import { answerFile } from './static-file.ts'

/** What carrying operations out takes of the server. */
export interface RouteServices extends PerformServices {
  bodyRoom: BodyBudget
  largeWorker: Pick<LargeWorker, 'run'>
}

/** Adds the routes of an operation. */
export function addRoutes(routes: ApiRoutes, declared: Operation, services: RouteServices): void {
  const asCsv = csvNameOf(declared)
  for (const { path } of [...namesOf(declared), ...(asCsv ? [asCsv] : [])]) {
    routes.add(declared.method, path, (ctx) => serve(declared, ctx, services))
  }
}

async function serve(declared: Operation, ctx: ApiContext, services: RouteServices): Promise<void> {
  const call = new HttpCall(declared, ctx, services)
  try {
    const answer = await perform(declared, call, services)
    const { status } = declared.answers[0]
    if (answer instanceof RawAnswer) return answerContent(ctx, answer, status)
    ctx.status = status
    ctx.body = answer
  } finally {
    call.leave()
  }
}

/** A request as a call. */
class HttpCall implements UncheckedCall {
  readonly caller: Caller
  readonly params: Record<string, string>
  readonly query: string
  readonly headers: Headers<string>
  readonly path: string
  readonly reply: ReplyHeaders
  readonly #ctx: ApiContext
  readonly #services: RouteServices
  /** Call it once nothing of the body is in use any more. */
  leave = nothing

  constructor(declared: Operation, ctx: ApiContext, services: RouteServices) {
    this.caller = ctx.state.caller ?? stranger(ctx.state)
    this.params = ctx.params
    this.query = declared.csv ? queryForTable(ctx) : ctx.querystring
    // Only Set-Cookie is a list, and only answers have it.
    this.headers = ctx.req.headers as Headers<string>
    this.path = ctx.path
    this.reply = ctx
    this.#ctx = ctx
    this.#services = services
  }

  /** A body that may be large waits for room. */
  async readBody({ as, optional = false, limit }: Body): Promise<unknown> {
    const ctx = this.#ctx
    if (limit !== undefined && (needsKey(ctx) || limit > standardBodyLimit))
      this.leave = await this.#services.bodyRoom.enter(ctx.req, this.caller.accountId, limit)
    if (as === 'text') return textBody(ctx.req, limit)
    const bounds = limit === undefined ? {} : { limit }
    if (as === 'bytes') return jsonBytes(ctx.req, { ...bounds, listsBytes: true })
    return jsonBody(ctx.req, { ...bounds, optional, parse: (bytes) => this.#parse(bytes) })
  }

  #parse(bytes: Buffer): unknown {
    return bytes.length <= smallBody ? parseJson(bytes) : this.#services.largeWorker.run('parseJson', bytes)
  }
}

const nothing = (): void => {}

/** Whoever calls what requires no key. */
const stranger = ({ clientAddress: address, requestId }: ApiContext['state']): Caller => ({
  accountId: '',
  domainId: null,
  sandbox: false,
  confined: false,
  rights: new Set(),
  actor: { type: 'user', id: null, name: '' },
  address,
  requestId,
})

/** The query of an operation that can answer with a table; its path, or `Accept`, may request that as `format=csv` does. */
function queryForTable(ctx: ApiContext): string {
  const query = new URLSearchParams(ctx.querystring)
  const [format = '', second] = query.getAll('format')
  const isWanted = ctx.path.endsWith('.csv')
    ? format !== 'csv'
    : format === '' && ctx.accepts(['application/json', 'text/csv']) === 'text/csv'
  if (isWanted && second === undefined && ['', 'json'].includes(format)) query.set('format', 'csv')
  return query.toString()
}

function answerContent(ctx: ApiContext, content: RawAnswer, usualStatus: number): void {
  const { body, status, type, filename, size, etag } = content
  ctx.status = status ?? usualStatus
  if (etag !== undefined) return answerFile(ctx, { type: type!, content: body as string | Buffer, etag })
  if (filename !== undefined) offerDownload(ctx, filename)
  if (type !== undefined) ctx.set('Content-Type', type)
  if (body instanceof Readable) answerWithStream(ctx, body)
  else ctx.body = body
  if (status !== undefined) ctx.status = status
  if (size !== undefined) ctx.length = size
  // Discards the rest of an unwanted body, so that the sender gets to read the answer.
  if (!ctx.req.complete) ctx.req.resume()
}

function offerDownload(ctx: ApiContext, filename: string): void {
  // Clients interpret bytes above 127 in different ways; those that know RFC 6266 use the encoded name next to it.
  ctx.attachment(filename, { fallback: filename.replace(/[^\x20-\x7e]/g, '?') })
  ctx.set('X-Content-Type-Options', 'nosniff')
}

/** The connection ends with a stream that breaks off, so that its client notices. */
function answerWithStream(ctx: ApiContext, stream: Readable): void {
  // The client may have left in the meantime.
  if (ctx.res.closed) return void stream.destroy()
  ctx.res.once('close', () => stream.destroy())
  stream.once('close', () => {
    if (!stream.readableEnded && !ctx.res.writableEnded) ctx.res.destroy()
  })
  ctx.body = stream
}
