import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { List, Suppression } from '../api/types.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { ActionButton } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/fields.tsx'
import { Page } from '../parts/page.tsx'
import { Paging } from '../parts/paging.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { Age } from '../parts/time.tsx'
import { mayChange } from '../rights.ts'
import { Link, setQuery, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

export default function Suppressions({ query }: PageProps) {
  const after = query.get('after')
  const address = query.get('email') ?? ''
  const [typed, setTyped] = useState(address)
  const [isAdding, setAdding] = useState(false)
  const page = useApi<List<Suppression>>(address === '' ? `/api/suppressions?limit=50${after === null ? '' : `&after=${after}`}` : null)
  const one = useApi<Suppression>(address === '' ? null : `/api/suppressions/${encodeURIComponent(address)}`)
  const reload = (): Promise<unknown> => Promise.all([page.reload(), one.reload()])
  const columns = columnsWith(mayChange() ? reload : null)
  const found = one.error?.status === 404 ? { ...one, error: null, data: null } : one
  return (
    <Page
      title={t.suppressions.title}
      heading={t.suppressions.heading}
      actions={
        mayChange() && (
          <button class="btn main" type="button" onClick={() => setAdding(true)}>
            {t.suppressions.add}
          </button>
        )
      }
    >
      <section class="panel" aria-label={t.suppressions.title}>
        <form
          class="filters"
          onSubmit={(event) => {
            event.preventDefault()
            setQuery({ email: typed.trim(), after: null })
          }}
        >
          <Field label={t.suppressions.search} type="search" value={typed} onValue={setTyped} autocomplete="off" />
        </form>
        {address === '' ? (
          <Answer of={page}>
            {({ data, has_more: hasMore }) => (
              <>
                {data.length === 0 ? <Empty text={t.suppressions.none} /> : <Rows rows={data} columns={columns} keyOf={({ id }) => id} />}
                <Paging isFirst={after === null} last={hasMore ? (data.at(-1)?.id ?? null) : null} />
              </>
            )}
          </Answer>
        ) : (
          <Answer of={found as typeof one}>
            {(entry: Suppression | null) =>
              entry === null ? (
                <Empty text={t.suppressions.notOn(address)} />
              ) : (
                <Rows rows={[entry]} columns={columns} keyOf={({ id }) => id} />
              )
            }
          </Answer>
        )}
      </section>
      {isAdding && <AddSuppression onDone={reload} onClose={() => setAdding(false)} />}
    </Page>
  )
}

const columnsWith = (onRemoved: (() => Promise<unknown>) | null): Column<Suppression>[] => [
  {
    head: t.suppressions.address,
    kind: 'title',
    cell: ({ email }) => <Link href={`/emails?to=${encodeURIComponent(email)}`}>{email}</Link>,
  },
  { head: t.suppressions.origin, cell: ({ origin }) => t.suppressions.origins[origin] ?? origin },
  { head: t.suppressions.topic, kind: 'quiet', cell: ({ topic }) => topic ?? '' },
  {
    head: t.suppressions.reason,
    kind: 'quiet',
    cell: ({ reason, source_id: source }) =>
      source === null ? (reason ?? '') : <Link href={`/emails/${source}`}>{reason ?? t.suppressions.source}</Link>,
  },
  { head: t.suppressions.since, kind: 'quiet', cell: ({ created_at: at }) => <Age of={at} /> },
  ...(onRemoved === null
    ? []
    : [
        {
          head: '',
          kind: 'number' as const,
          cell: ({ id }: Suppression) => (
            <ActionButton small text={t.common.remove} run={() => call(`/api/suppressions/${id}`, { method: 'DELETE' }).then(onRemoved)} />
          ),
        },
      ]),
]

function AddSuppression({ onDone, onClose }: { onDone(): Promise<unknown>; onClose(): void }) {
  const [email, setEmail] = useState('')
  const add = (): Promise<unknown> => call('/api/suppressions', { method: 'POST', body: { email } }).then(onDone)
  return (
    <Dialog heading={t.suppressions.add} button={t.common.add} run={add} onClose={onClose} disabled={email.trim() === ''}>
      <p>{t.suppressions.addText}</p>
      <Field label={t.suppressions.address} type="email" value={email} onValue={setEmail} autocomplete="off" />
    </Dialog>
  )
}
