import type { ComponentChildren } from 'preact'
import { t } from '../texts/texts.ts'

export interface Column<T> {
  /** Empty for a column of buttons. */
  head: string
  cell(row: T): ComponentChildren
  /**
   * `title` has a line of its own on a phone, `word` needs no head there, `number` stands at the end, `quiet` is for what is beside the
   * point. `wide` is left out on a phone, and `narrow` is there only.
   */
  kind?: 'title' | 'word' | 'number' | 'quiet' | 'wide' | 'narrow'
}

const classes = { title: 'full', word: '', number: 'num', quiet: 'muted', wide: 'muted only-wide', narrow: 'only-narrow grow' } as const
const headless = new Set<Column<never>['kind']>(['title', 'word', 'narrow'])

/** A table of the API's objects; on a phone a list with the title of each first. */
export const Rows = <T,>({ rows, columns, keyOf }: { rows: readonly T[]; columns: readonly Column<T>[]; keyOf(row: T): string }) => (
  <table class="flow">
    <thead>
      <tr>
        {columns.map(({ head, kind }, place) => (
          <th key={place} scope="col" class={kind === 'quiet' ? '' : kind ? classes[kind] : ''}>
            {head === '' ? <span class="hidden">{t.common.actions}</span> : head}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => (
        <tr key={keyOf(row)}>
          {columns.map(({ head, kind, cell }, place) => (
            <td key={place} class={kind ? classes[kind] : ''} {...(headless.has(kind) || head === '' ? {} : { 'data-l': head })}>
              {cell(row)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
)
