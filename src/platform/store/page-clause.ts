import type { Value } from './database.ts'

/** A page of a list, newest first unless stated otherwise. At most one of `after` and `before` is set. */
export interface Page<Edge extends string | number = string> {
  /** 1 … 100 */
  limit: number
  /** The entry just before the page. */
  after: Edge | null
  /** The entry just after the page. */
  before: Edge | null
}

/**
 * The SQL of a page, over the column that the list is sorted by: a condition to be joined with `and`, the order, and one row more than
 * requested, which shows whether the list continues. With `before` the rows come in the opposite order, nearest first; `listBody`
 * reverses them.
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

/** The largest one. */
export const firstPage: Page<never> = { limit: 100, after: null, before: null }

/** All pages of a list, one at a time. */
export const pages = <Row extends { id: string }>(read: (page: Page) => Promise<Row[]>): AsyncGenerator<Row[]> =>
  pagesBy(({ id }) => id, read)

/** The same of a list that is not sorted by id. */
export async function* pagesBy<Row, Edge extends string | number = string>(
  edgeOf: (row: Row) => Edge,
  read: (page: Page<Edge>) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let after: Edge | null = null; ;) {
    const rows: Row[] = await read({ ...firstPage, after })
    const page = rows.slice(0, firstPage.limit)
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    if (rows.length <= firstPage.limit) return
    after = edgeOf(last)
  }
}
