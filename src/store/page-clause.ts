import type { Value } from './database.ts'

/** A piece of a list; the newest entry comes first, where nothing else is said. At most one of `after` and `before` is set. */
export interface Page<Edge extends string | number = string> {
  /** 1 … 100 */
  limit: number
  /** The entry that stands before the page. */
  after: Edge | null
  /** The entry that stands behind the page. */
  before: Edge | null
}

/**
 * The SQL of a page over a column that the list is sorted by: a condition to be joined by `and`, the order, and one row more
 * than asked for, which tells that the list goes on. With `before` the rows come in the opposite order, those next to the edge
 * first; `listBody` turns them round.
 */
export function pageClause(
  page: Page<string | number>,
  column = 'id',
  sorted: 'asc' | 'desc' = 'desc',
): { condition: string; order: string; params: Record<string, Value> } {
  const edge = page.after ?? page.before
  const isUpward = (sorted === 'asc') === (page.before === null)
  const params: Record<string, Value> = { pageLimit: page.limit + 1, pageEdge: edge }
  const condition = edge === null ? '1 = 1' : `${column} ${isUpward ? '>' : '<'} :pageEdge`
  return { condition, order: `order by ${column} ${isUpward ? 'asc' : 'desc'} limit :pageLimit`, params }
}
