import { useEffect, useRef, useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { call, callForResponse } from '../api/client.ts'
import type { List, Suppression } from '../api/types.ts'
import { download } from '../download.ts'
import { shortDate } from '../format.ts'
import { Answer, Empty, NoMatch } from '../parts/answer.tsx'
import { ActionButton } from '../parts/controls.tsx'
import { Choice, Field, Switch } from '../parts/fields.tsx'
import { FilterForm } from '../parts/form.tsx'
import { Icon } from '../parts/icon.tsx'
import { Note, Page } from '../parts/page.tsx'
import { Paging } from '../parts/paging.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { AddSuppressions } from '../parts/suppression-addition.tsx'
import { ImportSuppressions } from '../parts/suppression-import.tsx'
import { Age } from '../parts/time.tsx'
import { mayChange } from '../rights.ts'
import { Link, setQuery, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

const filters = ['email', 'origin'] as const

export default function Suppressions({ query }: PageProps) {
  const asked = new URLSearchParams(filters.flatMap((name) => (query.get(name) ? [[name, query.get(name) ?? '']] : [])))
  const isFiltered = asked.size > 0
  const after = query.get('after')
  const address = query.get('email') ?? ''
  const [open, setOpen] = useState<'add' | 'import' | null>(null)
  const [removed, setRemoved] = useState<Suppression | null>(null)
  const page = useApi<List<Suppression>>(`/api/suppressions?limit=50&${asked}${after === null ? '' : `&after=${after}`}`)
  // An erased address is on the list under another name, and found as a whole only.
  const isMissing = page.data?.data.length === 0 && address.includes('@')
  const erased = useApi<Suppression>(isMissing ? `/api/suppressions/${encodeURIComponent(address)}` : null)
  const remove = async (entry: Suppression): Promise<void> => {
    await call(`/api/suppressions/${entry.id}`, { method: 'DELETE' })
    setRemoved(entry)
    await Promise.all([page.reload(), erased.reload()])
  }
  const found = page.data?.data.length === 0 && erased.data && !erased.error ? [erased.data] : null
  return (
    <Page heading={t.suppressions.title} actions={mayChange() && <Changes onOpen={setOpen} />}>
      {removed && <Removed entry={removed} onDone={page.reload} onForget={() => setRemoved(null)} />}
      <section class="panel" aria-label={t.suppressions.title}>
        <Filters address={address} origin={query.get('origin') ?? ''} />
        <Answer of={page} unfit={<NoSuppression isFiltered />}>
          {({ data, has_more: hasMore }) => (
            <>
              {data.length === 0 && !found ? (
                <NoSuppression isFiltered={isFiltered} />
              ) : (
                <Rows rows={found ?? data} columns={columnsWith(mayChange() ? remove : null)} keyOf={({ id }) => id} />
              )}
              <Paging isFirst={after === null} last={hasMore ? (data.at(-1)?.id ?? null) : null} />
            </>
          )}
        </Answer>
        <Export asked={asked} />
      </section>
      {open === 'add' && <AddSuppressions onDone={page.reload} onClose={() => setOpen(null)} />}
      {open === 'import' && <ImportSuppressions onDone={page.reload} onClose={() => setOpen(null)} />}
    </Page>
  )
}

const Changes = ({ onOpen }: { onOpen(dialog: 'add' | 'import'): void }) => (
  <>
    <button class="btn" type="button" onClick={() => onOpen('import')}>
      {t.suppressions.import}
    </button>
    <button class="btn main" type="button" onClick={() => onOpen('add')}>
      {t.suppressions.add}
    </button>
  </>
)

const NoSuppression = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? <NoMatch text={t.suppressions.noMatch} filters={filters} /> : <Empty text={t.suppressions.none} />

function Export({ asked }: { asked: URLSearchParams }) {
  const [guarded, setGuarded] = useState(false)
  return (
    <footer>
      <ActionButton small icon="dl" text={t.suppressions.export} run={() => save(asked, guarded)} />
      <Switch label={t.suppressions.forSpreadsheet} on={guarded} onChange={setGuarded} />
      {guarded && <p class="muted">{t.suppressions.forSpreadsheetText}</p>}
    </footer>
  )
}

async function save(asked: URLSearchParams, guarded: boolean): Promise<void> {
  const response = await callForResponse(`/api/suppressions.csv?${asked}${guarded ? '&spreadsheet=true' : ''}`)
  download('suppressions.csv', 'text/csv', await response.blob())
}

function Filters({ address, origin }: { address: string; origin: string }) {
  const [typed, setTyped] = useState<string | null>(null)
  const apply = (): void => {
    if (typed !== null) setQuery({ email: typed.trim(), after: null })
    setTyped(null)
  }
  return (
    <FilterForm onApply={apply}>
      <Field label={t.suppressions.search} type="search" value={typed ?? address} onValue={setTyped} onChange={apply} autocomplete="off" />
      <Choice
        label={t.suppressions.origin}
        value={origin}
        options={[['', t.suppressions.anyOrigin], ...Object.entries(t.suppressions.origins)]}
        onValue={(chosen) => setQuery({ origin: chosen, after: null })}
      />
    </FilterForm>
  )
}

/** What was removed, and the way back; the button has the focus, since the one that was pressed is gone. */
function Removed({ entry, onDone, onForget }: { entry: Suppression; onDone(): Promise<unknown>; onForget(): void }) {
  const note = useRef<HTMLDivElement>(null)
  useEffect(() => note.current?.querySelector('button')?.focus(), [entry.id])
  const undo = async (): Promise<void> => {
    const { email, reason } = entry
    await call('/api/suppressions', { method: 'POST', body: { email, ...(reason === null ? {} : { reason }) } })
    onForget()
    await onDone()
  }
  return (
    <div ref={note}>
      <Note tone="ok" action={<ActionButton small text={t.suppressions.undo} run={undo} />}>
        <p role="status">
          <b>{t.suppressions.removed(entry.email)}</b>
        </p>
        {entry.origin === 'unsubscribe' && <p>{t.suppressions.undoUnsubscribe}</p>}
      </Note>
    </div>
  )
}

const reasonOf = ({ reason, source_id: source }: Suppression) =>
  source === null ? (reason ?? '—') : <Link href={`/emails/${source}`}>{reason ?? t.suppressions.source}</Link>

const untilOf = ({ expires_at: at }: Suppression) => (at === null ? t.suppressions.forever : <time dateTime={at}>{shortDate(at)}</time>)

const columnsWith = (remove: ((entry: Suppression) => Promise<unknown>) | null): Column<Suppression>[] => [
  {
    head: t.suppressions.address,
    kind: 'title',
    cell: ({ email }) => <Link href={`/emails?to=${encodeURIComponent(email)}`}>{email}</Link>,
  },
  { head: t.suppressions.origin, kind: 'word', cell: ({ origin }) => t.suppressions.origins[origin] ?? origin },
  { head: t.suppressions.topic, kind: 'wide', cell: ({ topic }) => topic ?? '—' },
  {
    head: t.suppressions.reason,
    kind: 'wide',
    cell: reasonOf,
  },
  { head: t.suppressions.since, kind: 'quiet', cell: ({ created_at: at }) => <Age of={at} /> },
  {
    head: t.suppressions.until,
    kind: 'wide',
    cell: untilOf,
  },
  {
    head: t.suppressions.reason,
    kind: 'narrow',
    cell: (entry) => (
      <details>
        <summary>
          <Icon name="right" />
          {t.suppressions.reason}
        </summary>
        <p>{reasonOf(entry)}</p>
        {entry.topic !== null && (
          <p>
            {t.suppressions.topic} {entry.topic}
          </p>
        )}
        <p class="muted">
          {t.suppressions.until} {untilOf(entry)}
        </p>
      </details>
    ),
  },
  ...(remove === null
    ? []
    : [
        {
          head: '',
          kind: 'number' as const,
          cell: (entry: Suppression) => <ActionButton small text={t.common.remove} run={() => remove(entry)} />,
        },
      ]),
]
