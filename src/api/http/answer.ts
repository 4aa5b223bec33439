import type { BaseServices } from '../../platform/base-services.ts'
import { newId } from '../../platform/id.ts'
import type { ApiContext, ApiState } from './api-state.ts'
import { clientAddressRule } from './client-address.ts'
import { countAnswer } from './count-answer.ts'
import { problemBody, problemDetails, problemOf } from '../operation/problem.ts'

export interface AnswerServices extends Pick<BaseServices, 'clock' | 'log' | 'metrics'> {
  /** The public URL of this server, without a trailing slash. */
  baseUrl: string
  /** Networks in CIDR notation. */
  trustedProxies: readonly string[]
}

type Handler = (ctx: ApiContext) => Promise<void>

/** Gives each request its id, has it handled, and turns whatever the handler throws into JSON. */
export function answer(handle: Handler, isStopping: () => boolean, services: AnswerServices): Handler {
  const clientAddress = clientAddressRule(services.trustedProxies)
  return async (ctx) => {
    const startedAt = services.clock.now()
    const requestId = newId('req', startedAt)
    const state: Partial<ApiState> = ctx.state
    state.requestId = requestId
    state.clientAddress = clientAddress({ remoteAddress: ctx.req.socket.remoteAddress, forwardedFor: ctx.get('X-Forwarded-For') })
    ctx.set('X-Request-Id', requestId)
    ctx.set('X-Api-Version', '1')
    try {
      await handle(ctx)
    } catch (error) {
      answerProblem(ctx, error, services)
    }
    // Otherwise the connection would be kept for another request, and the server would wait for it to end.
    if (isStopping()) ctx.set('Connection', 'close')
    // If the client has left, nobody was answered.
    if (!ctx.res.destroyed) countAnswer(ctx, services.metrics)
    // The query string is left out, because it may contain people's addresses.
    services.log.debug(
      { requestId, method: ctx.method, path: shownPath(ctx.path), status: ctx.status, durationMs: services.clock.now() - startedAt },
      'a request was answered',
    )
  }
}

/** A path that is safe to log: what follows these prefixes is a secret. */
const shownPath = (path: string): string => path.replace(/\/(setup|invite|reset|u|preview)\/.*/is, '/$1/…')

function answerProblem(ctx: ApiContext, error: unknown, { log, baseUrl }: AnswerServices): void {
  const problem = problemOf(error)
  const { requestId } = ctx.state
  if (problem.status === 500)
    log.error({ requestId, method: ctx.method, path: shownPath(ctx.path), error }, 'a request failed because of an internal fault')
  const own = ctx.state.refusalForm?.(problem, requestId)
  ctx.status = own?.status ?? problem.status
  ctx.set({ ...problem.headers, ...own?.headers })
  if (own) {
    ctx.body = own.body
  } else if (ctx.get('Accept').includes('application/problem+json')) {
    ctx.body = problemDetails(problem, requestId, baseUrl)
    ctx.type = 'application/problem+json'
  } else {
    ctx.body = problemBody(problem, requestId)
  }
  // Discards the rest of an unwanted body, so that the sender gets to read the reason.
  if (!ctx.req.complete) ctx.req.resume()
}
