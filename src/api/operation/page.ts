import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import { idForm } from '../../platform/id.ts'
import type { Page } from '../../platform/store/page-clause.ts'
import { numberParameter } from './query.ts'

const defaultLimit = 20
const maxLimit = 100

const cursor = z.string().regex(idForm, { error: 'must be an id from the list, such as the last one of the previous page' })

/** The parameters of every list: `?limit=` (default: 20), and `?after=` or `?before=` an id. */
export const pageParameters = {
  limit: numberParameter(1, maxLimit).meta({ description: `How many to return, 1 to ${maxLimit}; default: ${defaultLimit}.` }),
  after: cursor.meta({ description: 'Returns the page after this id, the last one of the previous page.' }),
  before: cursor.meta({ description: 'Returns the page before this id.' }),
}

/**
 * The page that a query requests.
 * @throws SternaError `invalid_parameter` if it requests both directions
 */
export function pageOf<Edge extends string | number>(asked: { limit: number | null; after: Edge | null; before: Edge | null }): Page<Edge> {
  const { limit, after, before } = asked
  if (after !== null && before !== null) {
    throw new SternaError('invalid_parameter', 'Give either after or before, not both.')
  }
  return { limit: limit ?? defaultLimit, after, before }
}

/** The response of a list, from the rows of a query with `pageClause`. */
export function listBody<R, T>(
  rows: R[],
  page: Page<string | number>,
  toObject: (row: R) => T,
): { object: 'list'; has_more: boolean; data: T[] } {
  const data = rows.slice(0, page.limit).map(toObject)
  if (page.before !== null) data.reverse()
  return { object: 'list', has_more: rows.length > page.limit, data }
}

/** The response of a list. */
export const listOf = <S extends z.ZodType>(item: S) => z.object({ object: z.literal('list'), has_more: z.boolean(), data: z.array(item) })

/** The response of a list that always fits on one page. */
export const wholeList = <T>(data: T[]) => ({ object: 'list' as const, has_more: false, data })

/** A page of a list that is held in memory, as a query with `pageClause` would return it. */
export function pageFrom<T extends { id: string }>(items: readonly T[], { limit, after, before }: Page): T[] {
  const ascending = before !== null
  const sorted = items.toSorted((a, b) => (a.id < b.id === ascending ? -1 : 1))
  const wanted = sorted.filter(({ id }) => (after === null || id < after) && (before === null || id > before))
  return wanted.slice(0, limit + 1)
}
