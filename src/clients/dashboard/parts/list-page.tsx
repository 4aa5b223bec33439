import type { ComponentChildren } from 'preact'
import { useApi, fullPage, type Resource } from '../api/cache.ts'
import type { List } from '../api/types.ts'
import { askedBy } from '../days.ts'
import { Answer, Empty, NoMatch } from './answer.tsx'
import { AskButton } from './button.tsx'
import { Filters, isFilteredBy, type Filter } from './filters.tsx'
import { Page, type PageFrame } from './page.tsx'
import { Paging } from './paging.tsx'
import { idOf, Rows, type Column } from './rows.tsx'

/** The page of a list that the page's address asks for, by its filters and its `after`. */
export const useList = <T,>(path: string, query: URLSearchParams, filters: readonly Filter[] = [], everyMs: number | null = null) =>
  useApi<List<T>>(`${path}${path.includes('?') ? '&' : '?'}${askedBy(query, namesOf(filters), fullPage)}`, { everyMs })

const namesOf = (filters: readonly Filter[]): string[] => filters.map(({ name }) => name)

interface ListFrame<T> {
  list: Resource<List<T>>
  columns: readonly Column<T>[]
  /** By default its `id`. */
  keyOf?(row: T): string
  /** That of a page that `useList` fetches. */
  query?: URLSearchParams
  filters?: readonly Filter[]
  /** Why there may be nothing, and what changes it. */
  none: string
  offer?: ComponentChildren
  /** Where the filters leave nothing. */
  noMatch?: string
  /** Lines of what stands in its place until it is there. */
  lines?: number
}

/** A list of the API: its filters, a row for each object, and the way on. */
export function ListRows<T>({ list, query, filters = [], none, offer, noMatch = none, lines = 4, ...table }: ListFrame<T>) {
  const noSuch = filters.length > 0 && <NoMatch text={noMatch} filters={namesOf(filters)} />
  return (
    <>
      {query && filters.length > 0 && <Filters filters={filters} query={query} />}
      <Answer of={list} rows={lines} unfit={noSuch}>
        {({ data, has_more: hasMore }) => (
          <>
            {data.length > 0 ? (
              <Rows rows={data} {...table} />
            ) : query && isFilteredBy(filters, query) ? (
              noSuch
            ) : (
              <Empty text={none}>{offer}</Empty>
            )}
            {query && <Paging isFirst={!query.has('after')} last={hasMore && data.length > 0 ? idOf(data.at(-1)) : null} />}
          </>
        )}
      </Answer>
    </>
  )
}

interface ListPageFrame<T> extends Omit<ListFrame<T>, 'offer'>, PageFrame {
  /** Names the list; by default the heading. */
  name?: string
  /** What adds an object, where the user may: the word on the button, and the dialog that asks what for. */
  add?: { text: string; dialog(close: () => void): ComponentChildren } | false
  /** Between the heading and the list. */
  above?: ComponentChildren
  /** Above the filters. */
  top?: ComponentChildren
  /** Below the rows. */
  bottom?: ComponentChildren
}

/** A page for one list. What stands below the list, and dialogs, are its children. */
export function ListPage<T>({
  title,
  heading,
  sub,
  actions,
  name = heading,
  add,
  above,
  top,
  bottom,
  children,
  ...list
}: ListPageFrame<T>) {
  const button = add && <AskButton look="main" {...add} />
  return (
    <Page
      {...(title === undefined ? {} : { title })}
      heading={heading}
      sub={sub}
      actions={
        (actions || button) && (
          <>
            {actions}
            {button}
          </>
        )
      }
    >
      {above}
      <section class="panel" aria-label={name}>
        {top}
        <ListRows {...list} offer={button} />
        {bottom}
      </section>
      {children}
    </Page>
  )
}
