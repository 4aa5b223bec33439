import type { Value } from './database.ts'

/** A piece of a list whose newest entry comes first. At most one of `after` and `before` is set. */
export interface Page<Edge extends string | number = string> {
  /** 1 … 100 */
  limit: number
  /** The id that stands before the page: what follows is older. */
  after: Edge | null
  /** The id that stands behind the page: what precedes it is newer. */
  before: Edge | null
}

/**
 * The SQL of a page over a column that sorts by time: a condition to be joined by `and`, the order, and one row more
 * than asked for, which tells that the list goes on. With `before` the rows come oldest first; `listBody` turns them round.
 */
export function pageClause(
  page: Page<string | number>,
  column = 'id',
): { condition: string; order: string; params: Record<string, Value> } {
  const edge = page.after ?? page.before
  const params: Record<string, Value> = { pageLimit: page.limit + 1, pageEdge: edge }
  const condition = edge === null ? '1 = 1' : `${column} ${page.after === null ? '>' : '<'} :pageEdge`
  return { condition, order: `order by ${column} ${page.before === null ? 'desc' : 'asc'} limit :pageLimit`, params }
}
