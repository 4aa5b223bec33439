import type { z } from 'zod'
import type { Page } from '../../platform/store/page-clause.ts'
import type { Call } from './call.ts'
import { operation, type NamesIn, type Operation, type QueryValues } from './operation.ts'
import { listBody, listOf, pageOf, pageParameters } from './page.ts'
import type { QueryShape } from './query.ts'

export interface ListOperation<Path extends string, Row, S extends z.ZodType, Q> extends Omit<
  Operation,
  'path' | 'method' | 'query' | 'headers' | 'body' | 'answers' | 'csv' | 'admit' | 'handle' | 'refusalPage'
> {
  path: Path
  /** Filters, in addition to the parameters of every page. */
  query?: Q
  /** How an entry is shown. */
  of: { schema: S; answer(row: Row): z.input<S> }
  /** Describes the answer and its order. */
  answer: string
  /** The rows of a page, from a query with `pageClause`. */
  rows(call: Call<NamesIn<Path>, QueryValues<Q>, undefined>, page: Page): Row[] | Promise<Row[]>
}

/** Declares an operation that lists a resource page by page. */
export const listOperation = <const Path extends string, Row, S extends z.ZodType, Q extends QueryShape = Record<never, never>>({
  query,
  of,
  answer,
  rows,
  ...declared
}: ListOperation<Path, Row, S, Q>): Operation =>
  operation({
    ...declared,
    method: 'GET',
    query: { ...pageParameters, ...query },
    answers: [{ status: 200, description: answer, schema: listOf(of.schema) }],
    handle: async (call) => {
      const page = pageOf(call.query)
      return listBody(await rows(call as never, page), page, (row) => of.answer(row)) as never
    },
  })
