import type { ComponentChildren } from 'preact'
import { number } from '../format.ts'
import { Empty } from './answer.tsx'
import { CsvButton } from './controls.tsx'
import { Panel } from './page.tsx'
import { Figures } from './rows.tsx'
import { ShownFirst } from './shown-first.tsx'

export interface Figure<T> {
  /** As the API names it: a column of the CSV. */
  metric: string
  head: string
  /** Null where there is none. */
  value(row: T): number | null
  /** A number if not given; zero is a dash. */
  inWords?(value: number): string
}

interface BreakdownFrame<T> {
  heading: string
  /** The name of the CSV file. */
  file: string
  /** What the rows are. */
  nameHead: string
  /** The row's name in the API. */
  keyOf(row: T): string
  nameOf(row: T): ComponentChildren
  /** What is beside the name, in words. */
  detail?: { head: string; of(row: T): ComponentChildren }
  figures: readonly Figure<T>[]
  rows: readonly T[]
  /** Why there may be none. */
  none: string
  aside?: ComponentChildren
  /** Leaves out the button for CSV. */
  plain?: boolean
}

const maxLines = 20

/** What mail is broken down by, a row each, with figures. */
export function Breakdown<T>({ heading, file, rows, none, aside, plain = false, ...table }: BreakdownFrame<T>) {
  const { keyOf, figures } = table
  const lines = (): string[][] => [
    [file, ...figures.map(({ metric }) => metric)],
    ...rows.map((row) => [keyOf(row), ...figures.map(({ value }) => String(value(row) ?? ''))]),
  ]
  return (
    <Panel
      heading={heading}
      aside={
        <>
          {aside}
          {!plain && rows.length > 0 && <CsvButton name={file} rows={lines} />}
        </>
      }
    >
      {rows.length === 0 ? (
        <Empty text={none} />
      ) : (
        <ShownFirst rows={rows} most={maxLines}>
          {(shown) => <Figures name={heading} rows={shown} columns={columnsOf(table)} keyOf={keyOf} />}
        </ShownFirst>
      )}
    </Panel>
  )
}

const columnsOf = <T,>({ nameHead, nameOf, detail, figures }: Pick<BreakdownFrame<T>, 'nameHead' | 'nameOf' | 'detail' | 'figures'>) => [
  { head: nameHead, kind: 'title' as const, cell: nameOf },
  ...(detail ? [{ head: detail.head, kind: 'quiet' as const, cell: detail.of }] : []),
  ...figures.map(({ head, value, inWords = number }) => ({
    head,
    kind: 'number' as const,
    cell: (row: T) => (value(row) === null || value(row) === 0 ? '—' : inWords(value(row) as number)),
  })),
]
