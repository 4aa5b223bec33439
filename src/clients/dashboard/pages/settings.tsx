import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import type { List, Setting } from '../api/types.ts'
import { bytes, duration } from '../format.ts'
import { CopyButton } from '../parts/controls.tsx'
import { Field } from '../parts/fields.tsx'
import { ListPage } from '../parts/list-page.tsx'
import type { Column } from '../parts/rows.tsx'
import { t } from '../texts/texts.ts'

export default function Settings() {
  const settings = useApi<List<Setting>>('/api/settings')
  const [word, setWord] = useState('')
  const isFound = ({ name, description }: Setting): boolean => `${name} ${description}`.toLowerCase().includes(word.toLowerCase())
  const list = { ...settings, data: settings.data && { ...settings.data, data: settings.data.data.filter(isFound) } }
  return (
    <ListPage
      heading={t.nav.settings}
      sub={t.settings.readOnly}
      top={
        <div class="filters">
          <Field name={null} label={t.common.search} type="search" value={word} onValue={setWord} />
        </div>
      }
      list={list}
      lines={12}
      columns={columns()}
      keyOf={({ name }) => name}
      none={t.settings.none}
    />
  )
}

const columns = (): Column<Setting>[] => [
  {
    head: t.settings.name,
    kind: 'title',
    cell: ({ name, environment_name: variable, description }) => (
      <>
        <b class="mono">{name}</b> <code class="muted">{variable}</code> <CopyButton value={variable} name={variable} />
        <p class="reason">{description}</p>
      </>
    ),
  },
  { head: t.settings.value, cell: (setting) => <code>{valueInWords(setting)}</code> },
  { head: t.settings.origin, kind: 'quiet', cell: ({ origin, place }) => place ?? t.settings.origins[origin] ?? origin },
]

const valueInWords = ({ value, type }: Setting): string => {
  if (value === null || value === '') return '—'
  if (type.startsWith('duration') && typeof value === 'number') return duration(value)
  if (type.startsWith('size') && typeof value === 'number') return bytes(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
