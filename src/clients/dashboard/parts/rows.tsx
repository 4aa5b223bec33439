import type { ComponentChildren } from 'preact'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Scroll } from './page.tsx'

export interface Column<T> {
  /** Empty for a column of buttons, and where the cells of no column need one. */
  head: string
  cell(row: T): ComponentChildren
  kind?: Kind
  /** Its place on a phone, where that is not the order of the columns. */
  place?: 1 | 2 | 3 | 4
}

/**
 * `title` says which object it is and has a line of its own on a phone. `number` stands at the end, `quiet` is for what is beside the point.
 * `word`, `state`, `note` and `age` explain themselves: on a phone they have no head. `wide` is left out on a phone, and `narrow` is there
 * only.
 */
type Kind = 'title' | 'number' | 'quiet' | 'word' | 'state' | 'note' | 'age' | 'wide' | 'narrow'

/** The classes of the cells. */
const classes: Record<Kind, string> = {
  title: 'full',
  number: 'num',
  quiet: 'muted',
  word: '',
  state: 'grow',
  note: 'muted',
  age: 'num muted',
  wide: 'muted only-wide',
  narrow: 'only-narrow grow',
}
const isNamed = new Set<Kind | undefined>([undefined, 'number', 'quiet', 'wide'])
/** Classes that are for cells alone. */
const ofCells = /\b(?:muted|grow)\b/g

interface RowsFrame<T> {
  rows: readonly T[]
  columns: readonly Column<T>[]
  /** By default its `id`. */
  keyOf?(row: T): string
  id?: string
  /** `flow`: on a phone a list, with the title of each object first. `fixed`: that, with columns of fixed widths. */
  look?: 'flow' | 'fixed'
}

/** The column that names each object, with a link to its page. */
export const linked = <T,>(head: string, linkOf: (row: T) => [href: string, text: string]): Column<T> => ({
  head,
  kind: 'title',
  cell: (row) => {
    const [href, text] = linkOf(row)
    return (
      <Link class="row" href={href}>
        {text}
      </Link>
    )
  },
})

export const idOf = (row: unknown): string => (row as { id: string }).id

/** A table of the API's objects. */
export const Rows = <T,>({ look = 'flow', ...table }: RowsFrame<T>) => <Table look={look === 'fixed' ? 'flow fixed' : look} {...table} />

/** A table of figures, which stays a table on a phone. Where `name` says what it is of, it scrolls by itself if it is too wide. */
export const Figures = <T,>({ name, ...rows }: Omit<RowsFrame<T>, 'look' | 'id'> & { name?: string }) => {
  const table = <Table look="tight" {...rows} />
  return name === undefined ? table : <Scroll name={name}>{table}</Scroll>
}

const Table = <T,>({ rows, columns, keyOf = idOf, id, look }: Omit<RowsFrame<T>, 'look'> & { look: string }) => (
  <table class={look} id={id}>
    {columns.some(({ head }) => head !== '') && (
      <thead>
        <tr>
          {columns.map(({ head, kind }, place) => (
            <th key={place} scope="col" class={kind ? classes[kind].replace(ofCells, '').trim() : ''}>
              {head === '' ? <span class="hidden">{t.common.actions}</span> : head}
            </th>
          ))}
        </tr>
      </thead>
    )}
    <tbody>
      {rows.map((row) => (
        <tr key={keyOf(row)}>
          {columns.map((column, place) => (
            <Cell key={place} column={column} isTitle={column === columns.find(({ kind }) => kind === 'title')}>
              {column.cell(row)}
            </Cell>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
)

interface CellFrame {
  column: Omit<Column<never>, 'cell'>
  /** Whether it names the row. */
  isTitle: boolean
  children: ComponentChildren
}

function Cell({ column: { head, kind, place }, isTitle, children }: CellFrame) {
  const attributes = {
    class: `${kind ? classes[kind] : ''}${place === undefined ? '' : ` o${place}`}`,
    ...(isNamed.has(kind) && head !== '' ? { 'data-l': head } : {}),
  }
  return isTitle ? (
    <th scope="row" {...attributes}>
      {children}
    </th>
  ) : (
    <td {...attributes}>{children}</td>
  )
}
