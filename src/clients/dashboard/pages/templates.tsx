import { useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { List, TemplateItem } from '../api/types.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/fields.tsx'
import { Page } from '../parts/page.tsx'
import { Paging } from '../parts/paging.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { State } from '../parts/state.tsx'
import { Age } from '../parts/time.tsx'
import { mayChange } from '../rights.ts'
import { Link, navigate, type PageProps } from '../router.tsx'
import { draftOf } from '../template-draft.ts'
import { t } from '../texts/texts.ts'

export default function Templates({ query }: PageProps) {
  const after = query.get('after')
  const templates = useApi<List<TemplateItem>>(`/api/templates?limit=50${after === null ? '' : `&after=${after}`}`)
  const [isAdding, setAdding] = useState(false)
  const add = mayChange() && (
    <button class="btn main" type="button" onClick={() => setAdding(true)}>
      {t.templates.add}
    </button>
  )
  return (
    <Page heading={t.templates.title} actions={add}>
      <section class="panel" aria-label={t.templates.title}>
        <Answer of={templates}>
          {({ data, has_more: hasMore }) =>
            data.length === 0 ? (
              <Empty text={t.templates.none}>{add}</Empty>
            ) : (
              <>
                <Rows rows={data} columns={columns()} keyOf={({ id }) => id} />
                <Paging isFirst={after === null} last={hasMore ? (data.at(-1)?.id ?? null) : null} />
              </>
            )
          }
        </Answer>
      </section>
      {isAdding && <AddTemplate onClose={() => setAdding(false)} />}
    </Page>
  )
}

const columns = (): Column<TemplateItem>[] => [
  {
    head: t.templates.name,
    kind: 'title',
    cell: ({ id, alias, name }) => (
      <Link class="row" href={`/templates/${alias ?? id}`}>
        {name}
      </Link>
    ),
  },
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
  const [name, setName] = useState('')
  const [alias, setAlias] = useState('')
  const add = async (): Promise<void> => {
    const body = { name: name.trim(), alias: alias.trim() || null, subject: name.trim(), html: t.templates.beginning }
    const { id } = await call<{ id: string }>('/api/templates', { method: 'POST', body })
    invalidate('/api/templates')
    navigate(`/templates/${alias.trim() || id}`)
  }
  return (
    <Dialog main="alias" heading={t.templates.add} button={t.common.add} run={add} onClose={onClose} disabled={name.trim() === ''}>
      <Field
        name="name"
        label={t.templates.name}
        hint={t.templates.nameHint}
        value={name}
        onValue={setName}
        autocomplete="off"
        maxLength={255}
      />
      <Field
        name="alias"
        label={t.templates.alias}
        hint={t.templates.aliasHint}
        value={alias}
        onValue={setAlias}
        autocomplete="off"
        spellcheck={false}
        maxLength={64}
      />
    </Dialog>
  )
}
