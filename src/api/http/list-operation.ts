import type { z } from 'zod'
import type { Page } from '../../platform/store/page-clause.ts'
import type { ApiContext } from './api-state.ts'
import { operation, type Operation, type QueryValues } from './operation.ts'
import { listBody, listOf, pageOf, pageParameters } from './page.ts'
import type { QueryShape } from './query.ts'

interface ListOperation<Row, S extends z.ZodType, Q> extends Omit<Operation, 'method' | 'query' | 'body' | 'answers' | 'csv' | 'handle'> {
  /** Filters, in addition to the parameters of every page. */
  query?: Q
  /** How an entry is shown. */
  of: { schema: S; answer(row: Row): z.input<S> }
  /** Describes the response and its order. */
  answer: string
  /** The rows of a page, from a query with `pageClause`. */
  rows(ctx: ApiContext, page: Page, query: QueryValues<Q>): Row[] | Promise<Row[]>
}

/** Declares an endpoint that lists a resource page by page. */
export const listOperation = <Row, S extends z.ZodType, Q extends QueryShape = Record<never, never>>({
  query,
  of,
  answer,
  rows,
  ...declared
}: ListOperation<Row, S, Q>): Operation =>
  operation({
    ...declared,
    method: 'GET',
    query: { ...pageParameters, ...query },
    answers: [{ status: 200, description: answer, schema: listOf(of.schema) }],
    handle: async (ctx, { query: asked }) => {
      const page = pageOf(asked)
      return listBody(await rows(ctx, page, asked as unknown as QueryValues<Q>), page, (row) => of.answer(row)) as never
    },
  })
