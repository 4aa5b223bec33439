import type { Value } from './database.ts'

/** A piece of a list whose newest entry comes first. At most one of `after` and `before` is set. */
export interface Page {
  /** 1 … 100 */
  limit: number
  /** The id that stands before the page: what follows is older. */
  after: string | null
  /** The id that stands behind the page: what precedes it is newer. */
  before: string | null
}

/**
 * The SQL of a page over a column of sortable ids: a condition to be joined by `and`, the order, and one row more than
 * asked for, which tells that the list goes on. With `before` the rows come oldest first; `listBody` turns them round.
 */
export function pageClause(page: Page, column = 'id'): { condition: string; order: string; params: Record<string, Value> } {
  const params: Record<string, Value> = { pageLimit: page.limit + 1 }
  if (page.after !== null) params.pageEdge = page.after
  if (page.before !== null) params.pageEdge = page.before
  const condition = page.after !== null ? `${column} < :pageEdge` : page.before !== null ? `${column} > :pageEdge` : '1 = 1'
  return { condition, order: `order by ${column} ${page.before !== null ? 'asc' : 'desc'} limit :pageLimit`, params }
}
