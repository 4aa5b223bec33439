import { useEffect, useRef, useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Suppression } from '../api/types.ts'
import { shortDate } from '../format.ts'
import { AskButton, ActionButton } from '../parts/button.tsx'
import { SaveButton } from '../parts/controls.tsx'
import { Switch } from '../parts/fields.tsx'
import type { Filter } from '../parts/filters.tsx'
import { ListPage, useList } from '../parts/list-page.tsx'
import { Note, Unfold } from '../parts/page.tsx'
import type { Column } from '../parts/rows.tsx'
import { AddSuppressions } from '../parts/suppression-addition.tsx'
import { ImportSuppressions } from '../parts/suppression-import.tsx'
import { Age } from '../parts/time.tsx'
import { mayChange } from '../rights.ts'
import { Link, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

const filters = (): Filter[] => [
  { name: 'email', label: t.suppressions.search, kind: 'search' },
  { name: 'origin', label: t.common.cause, kind: [['', t.common.any], ...Object.entries(t.suppressions.origins)] },
]

export default function Suppressions({ query }: PageProps) {
  const address = query.get('email') ?? ''
  const [removed, setRemoved] = useState<Suppression | null>(null)
  const page = useList<Suppression>('/api/suppressions', query, filters())
  // An erased address is on the list under another name, and found as a whole only.
  const isMissing = page.data?.data.length === 0 && address.includes('@')
  const erased = useApi<Suppression>(isMissing ? `/api/suppressions/${encodeURIComponent(address)}` : null)
  const remove = async (entry: Suppression): Promise<void> => {
    await call(`/api/suppressions/${entry.id}`, { method: 'DELETE' })
    setRemoved(entry)
    await Promise.all([page.reload(), erased.reload()])
  }
  const found = page.data?.data.length === 0 && erased.data && !erased.error ? { ...page.data, data: [erased.data] } : page.data
  return (
    <ListPage
      heading={t.nav.suppressions}
      actions={
        mayChange() && (
          <>
            <AskButton text={t.suppressions.import} dialog={(close) => <ImportSuppressions onDone={page.reload} onClose={close} />} />
            <AskButton look="main" text={t.suppressions.add} dialog={(close) => <AddSuppressions onDone={page.reload} onClose={close} />} />
          </>
        )
      }
      above={removed && <Removed entry={removed} onDone={page.reload} onForget={() => setRemoved(null)} />}
      list={{ ...page, data: found }}
      query={query}
      filters={filters()}
      columns={columnsWith(mayChange() ? remove : null)}
      none={t.suppressions.none}
      noMatch={t.suppressions.noMatch}
      bottom={<Export query={query} />}
    />
  )
}

function Export({ query }: { query: URLSearchParams }) {
  const [guarded, setGuarded] = useState(false)
  const asked = new URLSearchParams(filters().flatMap(({ name }) => query.getAll(name).map((value) => [name, value])))
  if (guarded) asked.set('spreadsheet', 'true')
  return (
    <footer>
      <SaveButton
        look="small"
        text={t.suppressions.export}
        path={`/api/suppressions.csv?${asked}`}
        file="suppressions.csv"
        type="text/csv"
      />
      <Switch name={null} label={t.suppressions.forSpreadsheet} value={guarded} onValue={setGuarded} />
      {guarded && <p class="muted">{t.suppressions.forSpreadsheetText}</p>}
    </footer>
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
      <Note
        tone="ok"
        role="status"
        says={t.suppressions.removed(entry.email)}
        action={<ActionButton look="small" text={t.suppressions.undo} run={undo} />}
      >
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
    head: t.common.address,
    kind: 'title',
    cell: ({ email }) => <Link href={`/emails?to=${encodeURIComponent(email)}`}>{email}</Link>,
  },
  { head: t.common.cause, kind: 'word', cell: ({ origin }) => t.suppressions.origins[origin] ?? origin },
  { head: t.suppressions.topic, kind: 'wide', cell: ({ topic }) => topic ?? '—' },
  { head: t.suppressions.reason, kind: 'wide', cell: reasonOf },
  { head: t.common.since, kind: 'quiet', cell: ({ created_at: at }) => <Age of={at} /> },
  { head: t.common.until, kind: 'wide', cell: untilOf },
  {
    head: t.suppressions.reason,
    kind: 'narrow',
    cell: (entry) => (
      <Unfold word={t.suppressions.reason}>
        {() => (
          <>
            <p>{reasonOf(entry)}</p>
            {entry.topic !== null && (
              <p>
                {t.suppressions.topic} {entry.topic}
              </p>
            )}
            <p class="muted">
              {t.common.until} {untilOf(entry)}
            </p>
          </>
        )}
      </Unfold>
    ),
  },
  ...(remove === null
    ? []
    : [
        {
          head: '',
          kind: 'number' as const,
          cell: (entry: Suppression) => <ActionButton look="small" text={t.common.remove} run={() => remove(entry)} />,
        },
      ]),
]
