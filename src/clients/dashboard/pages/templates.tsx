import { invalidate } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { TemplateItem } from '../api/types.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Field, useFields } from '../parts/fields.tsx'
import { ListPage, useList } from '../parts/list-page.tsx'
import { type Column, linked } from '../parts/rows.tsx'
import { State } from '../parts/state.tsx'
import { Age } from '../parts/time.tsx'
import { mayChange } from '../rights.ts'
import { navigate, type PageProps } from '../router.tsx'
import { draftOf } from '../template-draft.ts'
import { t } from '../texts/texts.ts'

export default function Templates({ query }: PageProps) {
  return (
    <ListPage
      heading={t.nav.templates}
      list={useList<TemplateItem>('/api/templates', query)}
      query={query}
      columns={columns()}
      none={t.templates.none}
      add={mayChange() && { text: t.templates.add, dialog: (close) => <AddTemplate onClose={close} /> }}
    />
  )
}

const columns = (): Column<TemplateItem>[] => [
  linked(t.common.name, ({ id, alias, name }) => [`/templates/${alias ?? id}`, name]),
  { head: t.templates.alias, cell: ({ alias }) => alias !== null && <code>{alias}</code> },
  {
    head: t.common.status,
    cell: ({ id, status }) => (
      <>
        <State of={status} /> {draftOf(id) && <State of="unsaved" />}
      </>
    ),
  },
  { head: t.templates.published, kind: 'number', cell: ({ published_at: at }) => <Age of={at} /> },
]

function AddTemplate({ onClose }: { onClose(): void }) {
  const { values, field } = useFields({ name: '', alias: '' })
  const [name, alias] = [values.name.trim(), values.alias.trim()]
  const add = async (): Promise<void> => {
    const body = { name, alias: alias || null, subject: name, html: t.templates.beginning }
    const { id } = await call<{ id: string }>('/api/templates', { method: 'POST', body })
    invalidate('/api/templates')
    navigate(`/templates/${alias || id}`)
  }
  return (
    <Dialog main="alias" heading={t.templates.add} button={t.common.add} run={add} onClose={onClose} disabled={name === ''}>
      <Field {...field('name')} label={t.common.name} hint={t.templates.nameHint} maxLength={255} />
      <Field {...field('alias')} label={t.templates.alias} hint={t.templates.aliasHint} spellcheck={false} maxLength={64} />
    </Dialog>
  )
}
