import type { ComponentChildren } from 'preact'
import { t } from '../texts/texts.ts'

export interface Column<T> {
  /** Empty for a column of buttons. */
  head: string
  cell(row: T): ComponentChildren
  /** `title` has a line of its own on a phone, `number` stands at the end, `quiet` is for what is beside the point. */
  kind?: 'title' | 'number' | 'quiet'
}

const classes = { title: 'full', number: 'num', quiet: 'muted' } as const

/** A table of the API's objects; on a phone a list with the title of each first. */
export const Rows = <T,>({ rows, columns, keyOf }: { rows: readonly T[]; columns: readonly Column<T>[]; keyOf(row: T): string }) => (
  <table class="flow">
    <thead>
      <tr>
        {columns.map(({ head, kind }, place) => (
          <th key={place} scope="col" class={kind === 'number' ? 'num' : ''}>
            {head === '' ? <span class="hidden">{t.common.actions}</span> : head}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={keyOf(row)}>
          {columns.map(({ head, kind, cell }, place) => (
            <td key={place} class={kind ? classes[kind] : ''} {...(kind === 'title' || head === '' ? {} : { 'data-l': head })}>
              {cell(row)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
)
