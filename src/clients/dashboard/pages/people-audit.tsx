import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { fullPage, useAll, useApi } from '../api/cache.ts'
import type { Account, AuditEntry, List, User } from '../api/types.ts'
import { askedBy, isDay } from '../days.ts'
import { fullTime } from '../format.ts'
import { Answer, Empty, NoMatch } from '../parts/answer.tsx'
import { Choice, Field } from '../parts/fields.tsx'
import { FilterForm } from '../parts/form.tsx'
import { Page } from '../parts/page.tsx'
import { Paging } from '../parts/paging.tsx'
import { Rows, type Column } from '../parts/rows.tsx'
import { Age } from '../parts/time.tsx'
import { isOperator } from '../rights.ts'
import { setQuery } from '../router.tsx'
import { t } from '../texts/texts.ts'

const filters = ['account_id', 'actor', 'action', 'request_id', 'since', 'until'] as const

/** Every change, and who made it. */
export function Audit({ tabs, query }: { tabs: ComponentChildren; query: URLSearchParams }) {
  const after = query.get('after')
  const asked = askedBy(query, filters, fullPage)
  const entries = useApi<List<AuditEntry>>(`/api/audit?${asked}`)
  const isFiltered = filters.some((name) => query.has(name))
  return (
    <Page title={t.people.title} heading={t.audit.heading} sub={t.audit.sub}>
      <section class="panel" aria-label={t.people.views['audit'] ?? ''}>
        {tabs}
        <Filters query={query} />
        <Answer of={entries} rows={10} unfit={<NoEntry isFiltered />}>
          {({ data, has_more: hasMore }) => (
            <>
              {data.length === 0 ? <NoEntry isFiltered={isFiltered} /> : <Rows rows={data} columns={columns()} keyOf={({ id }) => id} />}
              <Paging isFirst={after === null} last={hasMore ? (data.at(-1)?.id ?? null) : null} />
            </>
          )}
        </Answer>
      </section>
    </Page>
  )
}

const NoEntry = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? <NoMatch text={t.audit.noMatch} filters={filters} /> : <Empty text={t.audit.none} />

const columns = (): Column<AuditEntry>[] => [
  {
    head: t.audit.what,
    kind: 'title',
    cell: ({ action, fields }) => (
      <>
        <code>{action}</code>
        {fields.length > 0 && <span class="muted"> {fields.join(', ')}</span>}
      </>
    ),
  },
  {
    head: t.audit.who,
    cell: ({ actor: { type, name } }) => (type === 'user' ? name : t.audit.byOther(t.audit.actors[type] ?? type, name)),
  },
  { head: t.audit.object, kind: 'quiet', cell: ({ object_id: id }) => (id === null ? '—' : <code>{id}</code>) },
  { head: t.me.address, kind: 'quiet', cell: ({ address }) => (address === null ? '—' : <code>{address}</code>) },
  {
    head: t.audit.when,
    kind: 'quiet',
    cell: ({ created_at: at }) => (
      <span title={fullTime(at)}>
        <Age of={at} />
      </span>
    ),
  },
]

function Filters({ query }: { query: URLSearchParams }) {
  const users = useAll<User>('/api/users')
  const accounts = useAll<Account>(isOperator() ? '/api/accounts' : null)
  const [typed, setTyped] = useState<Record<string, string>>({})
  const apply = (): void => {
    setQuery({ ...typed, after: null })
    setTyped({})
  }
  const set = (name: string) => (value: string) => setQuery({ [name]: value, after: null })
  const typedField = (name: string) => ({
    value: typed[name] ?? query.get(name) ?? '',
    onValue: (value: string) => setTyped({ ...typed, [name]: value }),
    onChange: apply,
  })
  const actors: [string, string][] = [
    ['', t.audit.anybody],
    ...(users.data?.data ?? []).map(({ id, email }): [string, string] => [id, email]),
    ['command', t.audit.actors['command'] ?? ''],
    ['server', t.audit.actors['server'] ?? ''],
  ]
  return (
    <FilterForm onApply={apply}>
      <Choice label={t.audit.who} value={query.get('actor') ?? ''} options={actors} onValue={set('actor')} />
      <Field label={t.audit.action} type="search" hint={t.audit.actionHint} {...typedField('action')} />
      {query.has('request_id') && <Field label={t.common.requestId} type="search" {...typedField('request_id')} />}
      <Field label={t.emails.since} type={isDay(query.get('since')) ? 'date' : 'text'} {...typedField('since')} />
      <Field label={t.emails.until} type={isDay(query.get('until')) ? 'date' : 'text'} {...typedField('until')} />
      {isOperator() && (
        <Choice
          label={t.people.account}
          value={query.get('account_id') ?? ''}
          options={[['', t.people.allAccounts], ...(accounts.data?.data ?? []).map(({ id, name }): [string, string] => [id, name])]}
          onValue={set('account_id')}
        />
      )}
    </FilterForm>
  )
}
