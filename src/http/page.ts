import { SternaError } from '../errors.ts'
import type { Page } from '../store/page-clause.ts'
import type { ApiContext } from './api-state.ts'
import { queryValue } from './query.ts'

const defaultLimit = 20
const largestLimit = 100

/**
 * Reads `?limit=` (1 … 100, 20 if not given) and `?after=` or `?before=`.
 * @throws SternaError `invalid_parameter`
 */
export function readPage(ctx: ApiContext): Page {
  const limit = queryValue(ctx, 'limit')
  const after = cursor(ctx, 'after')
  const before = cursor(ctx, 'before')
  if (limit !== null && !(/^\d{1,3}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= largestLimit)) {
    throw new SternaError('invalid_parameter', `The parameter limit must be a whole number from 1 to ${largestLimit}.`)
  }
  if (after !== null && before !== null) {
    throw new SternaError('invalid_parameter', 'Give either after or before, not both.')
  }
  return { limit: limit === null ? defaultLimit : Number(limit), after, before }
}

function cursor(ctx: ApiContext, name: 'after' | 'before'): string | null {
  const value = queryValue(ctx, name)
  if (value !== null && !/^[a-z]{2,5}_[0-9a-z]{26}$/.test(value)) {
    throw new SternaError('invalid_parameter', `The parameter ${name} must be an id from the list, such as the last one of the page before.`)
  }
  return value
}

/** The answer of a list, from the rows that a query with `pageClause` gave. */
export function listBody<R, T>(rows: R[], page: Page, toObject: (row: R) => T): { object: 'list'; has_more: boolean; data: T[] } {
  const data = rows.slice(0, page.limit).map(toObject)
  if (page.before !== null) data.reverse()
  return { object: 'list', has_more: rows.length > page.limit, data }
}
