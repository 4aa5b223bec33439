import type { DefaultContext, ParameterizedContext } from 'koa'
import type { Caller } from '../operation/caller.ts'
import type { Problem } from '../operation/problem.ts'
import type { RouteTable } from './route-table.ts'

/** What every handler finds in `ctx.state`. */
export interface ApiState {
  /** `req_…`, also in the response and in the log. */
  requestId: string
  /** The address of the client, as far as trusted proxies tell it. */
  clientAddress: string
  /** The holder of the API key or of the session's token; under /api only. */
  caller: Caller
  /** Below the paths of another service's API: the form in which that service reports errors. */
  refusalForm?: RefusalForm
}

/** Converts an error to the form of another service. */
export type RefusalForm = (problem: Problem, requestId: string) => { status: number; body: object; headers?: Record<string, string> }

/** A request, with the parameters of its path. */
export type ApiContext = ParameterizedContext<ApiState, DefaultContext & { params: Record<string, string> }>
export type ApiRoutes = RouteTable<(ctx: ApiContext) => Promise<void>>
